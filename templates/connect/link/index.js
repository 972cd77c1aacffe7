// The link component for programs that are bundled: the script that the service serves, as a module.
import './link.js';

export const { create, open } = globalThis.TabulariumLink;
