// The npm package of the link component on a server that renders pages, without a browser. Run by link_package.py.
import assert from 'node:assert/strict';
import { create, open } from 'tabularium-link';

assert.throws(open, { message: 'open() must follow create()' });
assert.throws(() => create(), { name: 'TypeError', message: 'create() needs a publishableKey' });
// A bundled script comes from the application, so the application must name the service.
assert.throws(() => create({ publishableKey: 'k' }), { name: 'TypeError', message: /needs a service/ });
for (const service of ['records.example', 'javascript:alert(1)', '//x']) {
  assert.throws(() => create({ publishableKey: 'k', service }), { name: 'TypeError', message: /needs the address of the service/ });
}
assert.throws(() => create({ publishableKey: 'k', service: 'https://x.example', onEvent: 'f' }), { message: 'create() needs a function as onEvent' });
const link = create({ publishableKey: 'k', service: 'https://records.example/' });
assert.deepEqual(Object.keys(link), ['open', 'close']);
link.close();
