"""The public interface as Doxygen reads it from the promised headers: classes, functions and their comments."""

import dataclasses
import functools
import pathlib
import re
import subprocess
import tempfile
import xml.etree.ElementTree as xml

ROOT = pathlib.Path(__file__).resolve().parents[1]
FOLDER = ROOT / "docs/doxygen"
TIMEOUT_S = 100
# Namespaces of what is installed and not promised.
INTERNAL = re.compile(r"(^|::)(\w+_internal|impl)(::|$)")


class Missing(Exception):
    """There is no Doxygen."""


@dataclasses.dataclass(eq=False)
class Name:
    """A class, concept, function, field, type, constant or enumerator."""

    kind: str  # class, concept, function, field, type, enum, constant or enumerator
    path: str  # qualified, without coracle::
    element: xml.Element
    file: str  # below include/
    line: int
    access: str = "public"
    members: list = dataclasses.field(default_factory=list)  # in the order of the header
    bases: list = dataclasses.field(default_factory=list)  # ids

    @property
    def id(self):
        return self.element.get("id")

    @property
    def own_name(self):
        return self.element.findtext("name") or self.path.rpartition("::")[2]

    @property
    def comment(self):
        """Its paragraphs."""
        return [p for part in ("briefdescription", "detaileddescription") for p in self.element.findall(f"{part}/para")]

    @property
    def says_all(self):
        """Copying, moving, destroying, and what is defaulted or deleted: the declaration needs no comment."""
        if self.kind != "function":
            return False
        arguments = self.element.findtext("argsstring") or ""
        owner = self.path.split("::")[-2] if "::" in self.path else ""
        owner = owner.partition("<")[0].strip()
        copies = self.own_name in (owner, "operator=") and re.match(rf"\((const )?{re.escape(owner)} ?&&?\w*\)", arguments.replace("< T >", ""))
        return bool(copies) or self.own_name.startswith("~") or re.search(r"= ?(default|delete)$", arguments) is not None


def text_of(element):
    return "".join(element.itertext()).strip() if element is not None else ""


def run_doxygen(root, output):
    """Its warnings."""
    settings = f'@INCLUDE = {FOLDER}/Doxyfile\nOUTPUT_DIRECTORY = {output}\nINPUT_FILTER = "awk -f {FOLDER}/comments.awk"\n'
    try:
        done = subprocess.run(["doxygen", "-"], cwd=root, text=True, input=settings, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              timeout=TIMEOUT_S)
    except FileNotFoundError:
        raise Missing("there is no doxygen; scripts/packages.sh docs installs it") from None
    return [line for line in done.stdout.splitlines() if line.strip()]


def place_of(element):
    place = element.find("location")
    return re.sub(r"^.*?(?=coracle/)", "", place.get("file")), int(place.get("line"))


KINDS = {"function": "function", "variable": "field", "typedef": "type", "enum": "enum", "friend": "function"}


def member_of(path, element):
    kind = KINDS[element.get("kind")]
    if kind == "field" and (element.get("static") == "yes" or re.search(r"\b(constexpr|constinit)\b", text_of(element.find("type")))):
        kind = "constant"
    found = Name(kind, f"{path}::{element.findtext('name')}".removeprefix("::"), element, *place_of(element), element.get("prot"))
    found.members = [Name("enumerator", f"{found.path}::{value.findtext('name')}", value, found.file, found.line)
                     for value in element.findall("enumvalue")]
    return found


def path_of(compound):
    return re.sub(r"^coracle(::|$)", "", compound.findtext("compoundname"))


@dataclasses.dataclass(eq=False)
class Reference:
    names: list  # classes, concepts and members of namespaces, without the members of classes
    warnings: list

    @functools.cached_property
    def all(self):
        """With the members of classes, and enumerators."""
        found, left = [], list(self.names)
        while left:
            name = left.pop()
            found.append(name)
            left += name.members
        return found

    @functools.cached_property
    def classes(self):
        return [name for name in self.names if name.kind == "class"]

    @functools.cached_property
    def by_id(self):
        return {name.id: name for name in self.all}

    @functools.cached_property
    def scopes(self):
        """The namespaces and classes that have names."""
        return {name.path.rpartition("::")[0] for name in self.all}

    @functools.cached_property
    def owners(self):
        """What a member belongs to, by the member's id."""
        return {member.id: name for name in self.all for member in name.members}

    @functools.cached_property
    def by_path(self):
        """The first declaration of each path: that without template arguments, which a specialization has."""
        found = {}
        for name in sorted(self.all, key=lambda name: (name.file, name.line)):
            found.setdefault(re.sub(r"<.*?>", "", name.path), name)
        return found

    def find(self, text, scope=""):
        """What a text such as `server_options::limits` names, or None; `scope`: the class in whose comment it stands."""
        path = re.sub(r"<.*?>|\(\)$", "", text.removeprefix("coracle::"))
        while True:
            found = self.member(f"{scope}::{path}".removeprefix("::"))
            if found or not scope:
                return found
            scope = scope.rpartition("::")[0]

    @functools.cached_property
    def by_suffix(self):
        """The paths of each class, type or member without the namespaces and classes around it."""
        found = {}
        for path in self.by_path:
            parts = path.split("::")
            for begin in range(1, len(parts)):
                found.setdefault("::".join(parts[begin:]), []).append(path)
        return found

    def find_on_page(self, text):
        """As find(); also `client_options::cas` for `tls::client_options::cas`, if one name alone ends in it."""
        paths = self.by_suffix.get(text.removesuffix("()"), ()) if "::" in text else ()
        return self.find(text) or (self.by_path[paths[0]] if len(paths) == 1 else None)

    def member(self, path):
        """Also a member that a class inherits."""
        if path in self.by_path:
            return self.by_path[path]
        owner, _, last = path.rpartition("::")
        if owner not in self.by_path:
            return None
        for base in self.by_path[owner].bases:
            if base in self.by_id and (found := self.member(f"{re.sub('<.*?>', '', self.by_id[base].path)}::{last}")):
                return found
        return None


def read(root=ROOT):
    with tempfile.TemporaryDirectory() as output:
        warnings = run_doxygen(root, output)
        compounds = [compound for page in sorted(pathlib.Path(output, "xml").glob("*.xml")) if page.name not in ("index.xml", "Doxyfile.xml")
                     for compound in xml.parse(page).getroot().iter("compounddef")]
    names = []
    for compound in compounds:
        kind, path = compound.get("kind"), path_of(compound)
        if kind not in ("class", "struct", "concept", "namespace") or INTERNAL.search(path) or compound.get("prot") not in (None, "public"):
            continue
        if kind == "namespace" and not compound.findtext("compoundname").startswith("coracle"):
            continue
        members = [member_of(path, element) for element in compound.iter("memberdef") if element.get("prot") != "private"]
        members = [member for member in members if member.access == "public" or member.comment]
        members.sort(key=lambda member: (member.file, member.line))
        if kind == "namespace":
            names += members
            continue
        name = Name("concept" if kind == "concept" else "class", path, compound, *place_of(compound), members=members)
        name.bases = [base.get("refid") for base in compound.findall("basecompoundref") if base.get("prot") == "public" and base.get("refid")]
        names.append(name)
    return Reference(names, warnings)


def uncommented(reference):
    """The names that need a comment and have none."""
    return [name for name in reference.all if name.access == "public" and not name.comment and not name.says_all]
