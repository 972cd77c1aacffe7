"""A patient with a browser that runs no scripts: follows redirects, keeps cookies, fills in forms."""

import html.parser
import http.cookiejar
import re
import time
import urllib.error
import urllib.parse
import urllib.request


class Patient:
    """Goes through the consent flow for `organization`, logging in there as `user`."""

    def __init__(self, organization, user, password="sandbox"):
        self.organization, self.user, self.password = organization, user, password

    def authorize(self, url, redirect_uri):
        """Goes from the authorization URL to the redirect URI. Returns the address of the redirect."""
        # Browsers send secure cookies to this machine over plain HTTP, too.
        policy = http.cookiejar.DefaultCookiePolicy(secure_protocols=("https", "http"))
        self.cookies = urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar(policy))
        self.opener = urllib.request.build_opener(self.cookies, Stay)
        form = None
        for _ in range(400):
            if url.startswith(redirect_uri):
                return url
            status, location, page = self.ask(url, form)
            form = None
            if location:
                url = urllib.parse.urljoin(url, location)
                continue
            if '<noscript><meta http-equiv="refresh"' in page:
                time.sleep(0.2)
                continue
            if status != 200:
                raise AssertionError(f"{status} at {url.split('?')[0]}: {page[:400]}")
            url, form = self.decide(url, page)
        raise AssertionError(f"the flow does not end; it is at {url.split('?')[0]}")

    def ask(self, url, form):
        data = urllib.parse.urlencode(form).encode() if form is not None else None
        request = urllib.request.Request(url, data, {"Accept": "text/html"})
        try:
            with self.opener.open(request, timeout=60) as answer:
                return answer.status, None, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.headers.get("Location"), error.read().decode()

    def decide(self, url, page):
        """Chooses the form of the page to send, and its values."""
        forms = Forms.of(page)
        for wanted in (re.escape(self.organization), "Agree", "Sign in", "Share", "Finish"):
            for form in forms:
                for name, value, text in form["buttons"]:
                    if not re.match(wanted, text):
                        continue
                    fields = [(key, self.answer(key, given)) for key, given in form["fields"]]
                    if name:
                        fields.append((name, value))
                    target = urllib.parse.urljoin(url, form["action"] or url)
                    if form["method"] == "get":
                        return f"{target.split('?')[0]}?{urllib.parse.urlencode(fields)}", None
                    return target, fields
        raise AssertionError(f"nothing to do on {url.split('?')[0]}: {page[:2000]}")

    def answer(self, name, given):
        return {"user": self.user, "password": self.password}.get(name, given)


class Stay(urllib.request.HTTPRedirectHandler):
    """Does not follow redirects. The patient checks their targets first."""

    def redirect_request(self, *_):
        return None


class Forms(html.parser.HTMLParser):
    """The forms of a page: their addresses, values and buttons."""

    @classmethod
    def of(cls, page):
        parser = cls()
        parser.feed(page)
        return parser.forms

    def __init__(self):
        super().__init__()
        self.forms, self.button = [], None

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        if tag == "form":
            method = given.get("method", "get").lower()
            self.forms.append({"action": given.get("action"), "method": method, "fields": [], "buttons": []})
        elif tag == "input" and self.forms and given.get("name"):
            if given.get("type") not in ("checkbox", "radio") or "checked" in given:
                self.forms[-1]["fields"].append((given["name"], given.get("value") or "on" * (given.get("type") == "checkbox")))
        elif tag == "button" and self.forms:
            self.button = [given.get("name"), given.get("value", ""), ""]

    def handle_data(self, data):
        if self.button:
            self.button[2] = f"{self.button[2]} {data.strip()}".strip()

    def handle_endtag(self, tag):
        if tag == "button" and self.button:
            self.forms[-1]["buttons"].append(tuple(self.button))
            self.button = None
