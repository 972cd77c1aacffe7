// Uses each option, callback, event and error of the npm package of the link component. Marked lines are mistakes, and
// do not compile without the mark. link_package.py runs this.

import { create, open, type ErrorCode, type Link, type LinkError, type LinkOptions, type View } from "tabularium-link";

const views: View[] = [];
const told: string[] = [];

function explained(error: LinkError): string {
  const known: Partial<Record<ErrorCode, string>> = { invalid_key: "the key", invalid_origin: "the origin", load_failed: "the frame" };
  return known[error.error as ErrorCode] ?? error.error_description;
}

const options: LinkOptions = {
  service: "https://records.example",
  publishableKey: "pk_test_1",
  user: { externalId: "user-1" },
  usage: "MULTIPLE",
  endpointId: "lakeshore",
  searchMode: true,
  hints: { firstName: "Ada", lastName: "Low", dob: "1980-01-02" },
  language: "es",
  display: "iframe",
  title: "Records",
  onSuccess: (token) => void told.push(token.toUpperCase()),
  onExit: (error) => void told.push(error === null ? "closed" : explained(error)),
  onLoad: () => void told.push("load"),
  onEvent: (name, details) => {
    // The name decides the type of the details.
    if (name === "view") views.push(details.view as View);
    if (name === "exit" && details.error !== null) told.push(explained(details.error));
    // @ts-expect-error: a token is for onSuccess only
    if (name === "success") told.push(details.public_token.length);
  },
};

export function connect(container: HTMLElement): Link {
  const link = create({ ...options, container });
  link.open();
  link.close();
  open();
  // The script puts the same object into a page.
  return globalThis.TabulariumLink.create(options);
}

// @ts-expect-error: a key is needed
create({});
// @ts-expect-error: usage is one of two
create({ publishableKey: "pk_test_1", usage: "FOREVER" });
// @ts-expect-error: what is not there
create({ publishableKey: "pk_test_1", onSucces: () => {} });
// @ts-expect-error: a callback is a function
create({ publishableKey: "pk_test_1", onLoad: "load" });
