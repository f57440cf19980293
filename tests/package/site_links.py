#!/usr/bin/env python3
"""site_links.py - each link of a folder of HTML pages leads to a file in it, and to an id that this file has.

    site_links.py <folder>

Links to other sites are not followed.
"""
import html.parser
import pathlib
import sys
import urllib.parse


class Page(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.links, self.ids = [], set()
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        for name, value in attrs:
            if name in ("id", "name") and value:
                self.ids.add(value)
            elif name in ("href", "src") and value:
                self.links.append(value)


def main(folder):
    folder = pathlib.Path(folder).resolve()
    pages = {p: Page(p.read_text(errors="replace")) for p in folder.rglob("*.html")}
    count, wrong = 0, []
    for path, page in pages.items():
        for link in page.links:
            parts = urllib.parse.urlsplit(link)
            if parts.scheme or parts.netloc or path.name == "404.html":
                continue
            count += 1
            target = path.parent / urllib.parse.unquote(parts.path) if parts.path else path
            target = target.resolve()
            if target.is_dir():
                target /= "index.html"
            anchor = urllib.parse.unquote(parts.fragment)
            if not target.exists():
                wrong.append(f"{path.relative_to(folder)} links {link}, which does not exist")
            elif anchor and target in pages and anchor not in pages[target].ids:
                wrong.append(f"{path.relative_to(folder)} links {link}: no such place")
    for line in sorted(set(wrong)):
        print("site_links.py:", line)
    print(f"site_links.py: {count} links on {len(pages)} pages")
    return 1 if wrong or not count else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
