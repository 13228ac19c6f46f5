// Somebody in front of a browser, who logs in as `alice` and agrees to everything: `node browser.mjs <url>`.

const cookies = new Map();

async function open(url, form) {
  const headers = { cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join('; ') };
  const response = await fetch(url, { method: form ? 'POST' : 'GET', body: form, headers, redirect: 'manual' });
  for (const cookie of response.headers.getSetCookie()) {
    const [name, ...value] = cookie.split(';')[0].split('=');
    cookies.set(name, value.join('='));
  }
  return response;
}

// What a form is filled with: what it hides, and what a person types.
function filled(page) {
  const form = new URLSearchParams();
  for (const [input] of page.matchAll(/<input[^>]*>/g)) {
    const name = /name="([^"]*)"/.exec(input)?.[1];
    if (name) form.append(name, /value="([^"]*)"/.exec(input)?.[1] ?? (name === 'login' ? 'alice' : 'secret'));
  }
  return form;
}

let url = process.argv[2];
let form;
for (let step = 0; step < 20; step += 1) {
  const response = await open(url, form);
  form = undefined;
  if (response.status >= 300 && response.status < 400) {
    url = new URL(response.headers.get('location'), url).href;
    continue;
  }
  const page = await response.text();
  const action = /<form[^>]*action="([^"]*)"/.exec(page)?.[1];
  if (response.status !== 200) throw new Error(`${response.status} at ${url}: ${page.slice(0, 500)}`);
  if (!action) process.exit(0);
  url = new URL(action, url).href;
  form = filled(page);
}
throw new Error('this leads nowhere');
