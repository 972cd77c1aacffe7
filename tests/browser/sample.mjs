// Steps of people in the sample application and on the service's pages, by the names that they see.

export async function press(page, name) {
  await page.getByRole('button', { name }).click();
}

// Chooses in the start page's options how records are connected: `one`, `search` or `ial2`.
export async function chooseWay(page, way) {
  await page.locator('#options > summary').click();
  await page.check(`input[name=way][value=${way}]`);
}

// Goes from the list of organizations to the source's page that confirms the sharing.
export async function connectSource(page, name, user) {
  await press(page, new RegExp(`^${name}`));
  await press(page, /^Agree and continue/);
  await page.fill('#user', user);
  await page.fill('#password', 'sandbox');
  await press(page, 'Sign in');
  await press(page, /^Share$/);
}

// The page that the application shows once the records are there.
export async function recordsCome(page) {
  await page.waitForURL((url) => url.pathname === '/app/records');
  await page.locator('[data-stage=there]').waitFor();
}
