"""A hook of mkdocs. Makes the pages of the API reference of what api_reference.py reads: a page for each class, and one for each
room of include/coracle with its functions and types. Names in code font on other pages become links to them.

A page shows the include that programs write, which is an umbrella header such as coracle/client.hpp where one has the name.
"""

import functools
import html
import logging
import pathlib
import posixpath
import re
import sys

from mkdocs.structure.files import File

sys.path.insert(0, str(pathlib.Path(__file__).parent))
sys.dont_write_bytecode = True

import api_reference  # noqa: E402

log = logging.getLogger("mkdocs.plugins.api")
ROOT = api_reference.ROOT
FOLDER = "api"
LANDING = "reference/api.md"
# Chapters, in the order of the navigation: the title, and the folders of include/coracle.
ROOMS = {
    "server": ("Servers", ("server", "services", "console", "telemetry")),
    "client": ("Clients", ("client", "naming")),
    "messages": ("Messages, metadata, errors", ("base", "rpc", "compress", "http")),
    "coroutines": ("Coroutines", ("coro",)),
    "runtime": ("Loops and threads", ("runtime",)),
    "net": ("Sockets and files", ("net",)),
    "security": ("Security", ("security", "tls")),
    "testing": ("Tests", ("testing", "runtime/sim")),
}
UMBRELLAS = ("client", "server", "runtime", "tls", "testing")
# The umbrella of what is in more than one, by the folder; of the others it is the first.
PREFERRED = {"server": "server", "services": "server", "coro": "runtime", "runtime": "runtime", "net": "runtime", "tls": "tls", "testing": "testing"}
KINDS = (("Types", ("type", "enum", "concept")), ("Constants", ("constant",)), ("Fields", ("field",)), ("Functions", ("function",)))
# Columns of a line of a declaration.
WIDE = 80
# Names in one heading.
SHOWN_NAMES = 4

reference = None


def room_of(name):
    file = name.file.removeprefix("coracle/")
    fits = [(len(folder), room) for room, (_, folders) in ROOMS.items() for folder in folders if file.startswith(folder)]
    return max(fits)[1] if fits else "messages"


@functools.cache
def headers_of(header):
    """What a header includes, itself among it, at any depth."""
    found, left = set(), [header]
    while left:
        one = left.pop()
        if one not in found and (ROOT / "include" / one).is_file():
            found.add(one)
            left += re.findall(r'#include "(coracle/[^"]+)"', (ROOT / "include" / one).read_text())
    return found


def include_of(file):
    """What a program includes to use what a header declares."""
    preferred = PREFERRED.get(file.split("/")[1], UMBRELLAS[0])
    umbrellas = sorted((f"coracle/{name}.hpp" for name in UMBRELLAS), key=lambda one: one != f"coracle/{preferred}.hpp")
    return next((one for one in umbrellas if file in headers_of(one)), file)


def title_of(name):
    return re.sub(r"< (.*?) >", r"<\1>", name.path)


def slug(text):
    marks = {"==": "equal", "<=>": "compare", "<<": "write", "->": "arrow", "()": "call", "[]": "index", "++": "increment", "--": "decrement",
             "+=": "add-to", "-=": "subtract-from", "+": "plus", "-": "minus", "*": "star"}
    if not re.match(r"operator\b", text):
        return text
    operator = text.removeprefix("operator").strip()
    return "operator-" + marks.get(operator, re.sub(r"\W+", "-", operator).strip("-"))


def is_outer(name):
    """Whether a class has a page of its own; a nested class is on that of the class around it."""
    return name.kind == "class" and outer_of(name) is None


def outer_of(name):
    """The class around a nested class."""
    path = name.path.rpartition("::")[0]
    return next((one for one in reference.classes if one.path == path), None)


@functools.cache
def place(name_id):
    """The page and the anchor of a name; None for what is on no page."""
    name = reference.by_id.get(name_id)
    if name is None:
        return None
    if name.kind == "class":
        if is_outer(name):
            return page_of(name), ""
        page, anchor = place(outer_of(name).id)
        return page, f"{anchor}.{name.path.rpartition('::')[2]}".lstrip(".")
    owner = reference.owners.get(name_id)
    if owner is None:
        return page_of_room(room_of(name)), slug(re.sub(r".*::(?!$)", "", name.path))
    if owner.kind == "enum":
        return place(owner.id)
    page, anchor = place(owner.id)
    return page, f"{anchor}.{slug(name.own_name)}".lstrip(".")


def page_of(name):
    return f"{FOLDER}/{room_of(name)}/" + re.sub(r"< *(.*?) *>", r".\1", name.path).replace("::", ".") + ".md"


def page_of_room(room):
    return f"{FOLDER}/{room}/index.md"


class Page:
    """Renders names for one page."""

    def __init__(self, path):
        self.path = path

    def href(self, found):
        page, anchor = found
        target = posixpath.relpath(page, posixpath.dirname(self.path)).removesuffix(".md") + ".html"
        return html.escape(f"#{anchor}" if page == self.path and anchor else target + (f"#{anchor}" if anchor else ""))

    def link(self, text, found):
        return f'<a href="{self.href(found)}">{text}</a>' if found else text

    def inline(self, element, scope=""):
        """The HTML of the text of a comment."""
        parts = [html.escape(element.text or "")]
        for child in element:
            parts.append(self.inline_child(child, scope) + html.escape(child.tail or ""))
        return "".join(parts)

    def inline_child(self, child, scope):
        inner = self.inline(child, scope)
        if child.tag == "ref":
            return self.link(f"<code>{inner}</code>", place(child.get("refid")))
        if child.tag == "computeroutput":
            text = api_reference.text_of(child)
            found = reference.find(text, scope) if re.fullmatch(r"[\w:]+(\(\))?", text) and re.search(r"::|\(\)$|_", text) else None
            return self.link(f"<code>{html.escape(text)}</code>", found and place(found.id))
        if child.tag == "ulink":
            return f'<a href="{html.escape(child.get("url"))}">{inner}</a>'
        if child.tag in ("ndash", "mdash", "nonbreakablespace"):
            return {"ndash": "–", "mdash": "—", "nonbreakablespace": "\N{NO-BREAK SPACE}"}[child.tag]
        if child.tag in ("bold", "emphasis"):
            return f"<em>{inner}</em>"
        log.warning("%s: a comment has <%s>, which site_api.py does not know", self.path, child.tag)
        return inner

    def paragraphs(self, name):
        """The Markdown of a comment: HTML, and fenced code."""
        scope = name.path if name.kind == "class" else name.path.rpartition("::")[0]
        return "\n\n".join(block for para in name.comment for block in self.blocks(para, scope))

    def blocks(self, para, scope):
        text = [html.escape(para.text or "")]
        for child in para:
            if child.tag in ("verbatim", "programlisting"):
                yield from self.paragraph(text)
                code = child.text if child.tag == "verbatim" else "\n".join(
                    "".join(" " if part.tag == "sp" else part.text or "" for part in line.iter()) for line in child.iter("codeline"))
                lines = code.strip("\n").split("\n")
                indent = min((len(line) - len(line.lstrip()) for line in lines if line.strip()), default=0)
                yield "```cpp\n" + "\n".join(line[indent:] for line in lines) + "\n```"
                text = [html.escape(child.tail or "")]
            elif child.tag == "itemizedlist":
                yield from self.paragraph(text)
                yield "<ul>" + "".join("<li>" + "".join(self.inline(p, scope) for p in item.iter("para")) + "</li>" for item in child) + "</ul>"
                text = [html.escape(child.tail or "")]
            else:
                text.append(self.inline_child(child, scope) + html.escape(child.tail or ""))
        yield from self.paragraph(text)

    def paragraph(self, parts):
        text = re.sub(r"\s+", " ", "".join(parts)).strip()
        if text:
            yield f"<p>{text}</p>"

    def typed(self, element):
        """A type, with links."""
        if element is None:
            return ""
        parts = [html.escape(element.text or "")]
        for child in element:
            parts += [self.link(html.escape(child.text or ""), place(child.get("refid"))), html.escape(child.tail or "")]
        text = "".join(parts).strip()
        text = re.sub(r"&lt; (?=\S)", "&lt;", text)
        text = re.sub(r"(?<=\S) &gt;", "&gt;", text)
        return re.sub(r" (&amp;|\*)(?! )", r"\1", text)

    def parameter(self, element):
        name = element.findtext("declname") or element.findtext("defname") or ""
        value = self.typed(element.find("defval"))
        array = element.findtext("array") or ""
        kind = self.typed(element.find("type"))
        if array.startswith(")"):  # a pointer to a function
            return kind + name + html.escape(array)
        return kind + (" " if name and not kind.endswith("...") else " " if name else "") + name + (f" = {value}" if value else "")

    def template(self, element):
        found = element.find("templateparamlist")
        lines = [f"template &lt;{', '.join(self.parameter(one) for one in found)}&gt;"] if found is not None and len(found) else []
        clause = element.find("requiresclause")
        if clause is not None:
            lines += ("  requires " + re.sub(r"\s+", " ", html.escape(api_reference.text_of(clause))).replace(" &amp;&amp; ", " &amp;&amp;\n           ")).split("\n")
        return lines

    def declaration(self, name):
        """The lines of a declaration, as HTML."""
        e = name.element
        lines = self.template(e)
        if name.kind == "function":
            before = "".join(word + " " for word, key, value in (("static", "static", "yes"), ("explicit", "explicit", "yes")) if e.get(key) == value)
            before += "virtual " if e.get("virt") in ("virtual", "pure-virtual") else ""
            before += "friend " if e.get("kind") == "friend" else ""
            kind = re.sub(r"^friend ", "", self.typed(e.find("type")))
            arguments = e.findtext("argsstring") or "()"
            after = re.sub(r"\s*=\s*default$", "", arguments[closing(arguments) + 1:])
            after = html.escape(re.sub(r"^(?=\S)", " ", re.sub(r"\s*=\s*0$", " = 0", after)))
            first = f"{before}{kind}{' ' if kind else ''}<b>{html.escape(name.own_name)}</b>("
            given = [self.parameter(one) for one in e.findall("param")]
            given = [] if given == ["void"] else given
            if len(plain(first + ", ".join(given) + after)) < WIDE:
                lines.append(f"{first}{', '.join(given)}){after}")
            else:
                lines += [first, *(f"    {one}{',' if one is not given[-1] else ')' + after}" for one in given)]
        elif name.kind in ("field", "constant"):
            kind = self.typed(e.find("type"))
            static = "static " if e.get("static") == "yes" and not kind.startswith("static") else ""
            value = re.sub(r"\s+", " ", self.typed(e.find("initializer")))
            lines.append(f"{static}{kind} <b>{html.escape(name.own_name)}</b>{html.escape(e.findtext('argsstring') or '')}{' ' + value if value else ''}")
        elif name.kind == "type":
            lines.append(f"using <b>{html.escape(name.own_name)}</b> = {self.typed(e.find('type'))}{html.escape(e.findtext('argsstring') or '')}")
        elif name.kind == "enum":
            lines.append(f"enum class <b>{html.escape(name.own_name)}</b>")
        elif name.kind == "concept":
            lines = [re.sub(r"\s+", " ", self.typed(e.find("initializer"))).replace("&gt; concept", "&gt;\nconcept")]
        else:
            shown = html.escape(title_of(name).rpartition("::")[2])
            lines.append(f"{e.get('kind')} <b>{shown}</b>")
            public = [self.link(html.escape((base.text or "").removeprefix("coracle::")), place(base.get("refid") or ""))
                      for base in e.findall("basecompoundref") if base.get("prot") == "public" and base.get("refid") and place(base.get("refid"))]
            lines[-1] += f" : {', '.join('public ' + one for one in public)}" if public else ""
        return lines

    def included(self, name):
        """The line that includes what is no member of a class."""
        return [f"#include &lt;{include_of(name.file)}&gt;"] if is_outer(name) or name.kind != "class" and name.id not in reference.owners else []

    def code(self, declarations):
        return '<div class="api no-copy"><pre><code>' + "\n".join("\n".join(lines) for lines in declarations if lines) + "</code></pre></div>"

    def member(self, names, level, anchor):
        """A field or a type, the overloads of a function, or functions that share a comment."""
        headings = [self.heading(name) for name in first_of_each(names)]
        more = f" and {len(headings) - SHOWN_NAMES} more" if len(headings) > SHOWN_NAMES + 1 else ""
        shown = ", ".join(headings[:SHOWN_NAMES] if more else headings)
        parts = [f"{'#' * level} {shown}{more} {{ #{anchor}{slug(names[0].own_name)} }}"]
        anchors = [slug(name.own_name) for name in first_of_each(names)[1:]]
        if anchors:
            parts.append("<p class=\"api-anchors\">" + "".join(f'<a id="{anchor}{one}"></a>' for one in anchors) + "</p>")
        while names:
            same = [one for one in names if texts(one) == texts(names[0])]
            names = [one for one in names if one not in same]
            parts.append(self.code([self.included(same[0]), *map(self.declaration, same)]))
            if same[0].access == "protected":
                parts.append("<p>For derived classes.</p>")
            parts.append(self.paragraphs(same[0]))
            parts += [self.enumerators(one) for one in same if one.members]
        return "\n\n".join(part for part in parts if part)

    def heading(self, name):
        if re.sub(r"<.*?>", "", name.path).split("::")[-2:-1] == [name.own_name]:
            return "Constructor"
        return f"`{name.own_name}{'()' if name.kind == 'function' and not name.own_name.startswith('operator') else ''}`"

    def enumerators(self, name):
        rows = "".join(f"<tr><td><code>{one.own_name}</code></td><td>{' '.join(self.inline(p, name.path).strip().rstrip('.') for p in one.comment)}</td></tr>"
                       for one in name.members)
        return f"<table><tbody>{rows}</tbody></table>"

    def members(self, names, level, anchor):
        parts = []
        for title, kinds in KINDS:
            of_kind = [name for name in names if name.kind in kinds and (name.comment or not name.says_all)]
            if not of_kind:
                continue
            parts.append(f"{'#' * level} {title}" + (f" {{ #{anchor}{title.lower()}- }}"))
            parts += [self.member(group, level + 1, anchor) for group in groups(of_kind)]
        return "\n\n".join(parts)

    def class_text(self, name):
        """What a page says of a class, below its heading."""
        parts = [self.code([self.included(name) + self.declaration(name)]), self.paragraphs(name)]
        for base in name.bases:
            inherited = reference.by_id.get(base)
            if inherited and inherited.members and place(base):
                links = [self.link(f"<code>{html.escape(one.own_name)}</code>", place(one.id)) for one in first_of_each(inherited.members) if not one.says_all]
                parts.append(f"<p>Inherited from {self.link(f'<code>{html.escape(title_of(inherited))}</code>', place(base))}: {', '.join(links)}.</p>")
        return "\n\n".join(parts)

    def class_page(self, name):
        title = title_of(name)
        parts = [f"---\ntitle: \"{title}\"\nsearch:\n  boost: 0.5\n---\n\n# `coracle::{title}`", self.class_text(name), self.members(name.members, 2, "")]
        for nested in sorted((one for one in reference.classes if one.path.startswith(f"{name.path}::")), key=lambda one: one.line):
            anchor = place(nested.id)[1]
            parts += [f"## `{title_of(nested).removeprefix(title + '::')}` {{ #{anchor} }}", self.class_text(nested), self.members(nested.members, 3, f"{anchor}.")]
        parts.append("<p>" + self.link(f"All classes: {ROOMS[room_of(name)][0]}", (page_of_room(room_of(name)), "")) + "</p>")
        return "\n\n".join(part for part in parts if part) + "\n"

    def room_page(self, room):
        title = ROOMS[room][0]
        rows = "".join(f"<tr><td>{self.link(f'<code>{html.escape(title_of(one))}</code>', place(one.id))}</td><td>{self.summary(one)}</td></tr>"
                       for one in classes(room))
        parts = [f"---\ntitle: \"{title}\"\nsearch:\n  boost: 0.5\n---\n\n# API: {title}", "## Classes", f"<table><tbody>{rows}</tbody></table>"]
        parts.append(self.members([one for one in reference.names if one.kind != "class" and room_of(one) == room], 2, ""))
        return "\n\n".join(part for part in parts if part) + "\n"

    def summary(self, name):
        first = name.comment[0] if name.comment else None
        text = "" if first is None else next(iter(self.paragraph([self.inline_head(first, name.path)])), "")
        return re.match(r"(?s)(<code>.*?</code>|.)*?[.](?= |$)|.*", text.removeprefix("<p>").removesuffix("</p>"))[0]

    def inline_head(self, para, scope):
        """Up to the first block."""
        text = html.escape(para.text or "")
        for child in para:
            if child.tag in ("verbatim", "programlisting", "itemizedlist"):
                break
            text += self.inline_child(child, scope) + html.escape(child.tail or "")
        return text


def groups(names):
    """Overloads, and functions that follow one another and share a comment."""
    found, last = {}, None
    for name in names:
        if name.own_name in found:
            found[name.own_name].append(name)
        elif last and name.kind == "function" and texts(name) and texts(name) == texts(last):
            found[name.own_name] = found[last.own_name]
            found[name.own_name].append(name)
        else:
            found[name.own_name] = [name]
        last = name
    return list({id(group): group for group in found.values()}.values())


def texts(name):
    return [api_reference.text_of(para) for para in name.comment]


def first_of_each(names):
    return list({name.own_name: name for name in reversed(names)}.values())[::-1]


def closing(arguments):
    depth = 0
    for i, c in enumerate(arguments):
        depth += (c in "([{") - (c in ")]}")
        if depth == 0 and c == ")":
            return i
    return len(arguments)


def plain(text):
    return html.unescape(re.sub(r"<[^>]*>", "", text))


def classes(room):
    return sorted((name for name in reference.classes if is_outer(name) and room_of(name) == room), key=title_of)


def on_config(config):
    global reference
    try:
        reference = api_reference.read()
    except api_reference.Missing as reason:
        log.warning("%s", reason)
        reference = api_reference.Reference([], [])
    for line in reference.warnings:
        log.warning("doxygen: %s", line)
    place.cache_clear()
    chapters = [LANDING, *({title: [page_of_room(room), *({html.escape(title_of(one)): page_of(one)} for one in classes(room))]} for room, (title, _) in ROOMS.items())]
    replace(config.nav, chapters)
    return config


def replace(nav, chapters):
    """Puts the chapters where the nav names the landing page."""
    for entry in nav:
        for title, child in entry.items() if isinstance(entry, dict) else ():
            if child == LANDING:
                entry[title] = chapters
            elif isinstance(child, list):
                replace(child, chapters)


def on_files(files, config):
    for room in ROOMS:
        page = page_of_room(room)
        files.append(File.generated(config, page, content=Page(page).room_page(room)))
        for name in classes(room):
            files.append(File.generated(config, page_of(name), content=Page(page_of(name)).class_page(name)))
    return files


# In code font: what is qualified, or in two words, as one word may be anything.
LINKED = re.compile(r"<code>((?:coracle::)?\w+(?:::\w+)+(?:\(\))?|\w+_\w+(?:\(\))?)</code>")


def on_page_content(content, page, config, files):
    """Links names in code font, but in headings, links and blocks of code."""
    if page.file.src_uri.startswith((f"{FOLDER}/", "source/")):
        return content
    here = Page(page.file.src_uri)

    def linked(match):
        found = reference.find_on_page(match[1])
        return here.link(match[0], place(found.id)) if found else match[0]

    parts = re.split(r"(<h\d.*?</h\d>|<a .*?</a>|<pre.*?</pre>)", content, flags=re.S)
    return "".join(part if i % 2 else LINKED.sub(linked, part) for i, part in enumerate(parts))
