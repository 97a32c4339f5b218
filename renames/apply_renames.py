#!/usr/bin/env python3
"""apply_renames.py TREE [--room ROOM] [--dry] [--collisions] [--map FILE]: applies renames.tsv to a git work tree.

Columns (tab separated): kind, glob, old, new, note, section, regex.
  kind   id    an identifier: C++ code tokens, and the comments and Markdown that name it as code
         str   an identifier inside string literals of the files of `glob` (code generators)
         file  a path: git mv, and every #include and mention of the path follows
         text  a literal replacement in any text file of `glob` (whole words)
         com   a literal replacement in the comments of the C++ files of `glob` (whole words)
  glob   comma separated; `**` is everything; a leading `!` excludes
  section  the room, or public:<room>
  regex  optional, id only: `@` stands for the identifier; only tokens at which the expression matches are renamed

Rows are tried in order: the first one that fits a token wins. Running the script twice changes nothing more.
Formatting is left to scripts/format.py.
"""
import argparse, collections, os, re, subprocess, sys

TOK = re.compile(r'''(?P<raw>(?:u8|u|U|L)?R"(?P<d>[^()\\\s]*)\(.*?\)(?P=d)")|(?P<com>//[^\n]*(?:\\\n[^\n]*)*|/\*.*?\*/)'''
                 r'''|(?P<str>(?:u8|u|U|L)?"(?:\\.|[^"\\\n])*")|(?P<chr>(?<![0-9a-fA-F])(?:u8|u|U|L)?'(?:\\.|[^'\\\n])+')'''
                 r'''|(?P<num>\.?\d(?:'?[\w.])*)|(?P<id>[A-Za-z_]\w*)''', re.S)
WORD = re.compile(r'[A-Za-z_]\w*')
CPP = ('.cpp', '.hpp', '.h', '.cc', '.inc')
TEXT = CPP + ('.md', '.py', '.cmake', '.txt', '.json', '.yml', '.yaml', '.toml', '.in', '.sh', '.proto', '.tsv', '.h2')
NO_FOLLOW = ('CHANGELOG.md',)


def glob_re(g):
    out, i = '', 0
    while i < len(g):
        if g.startswith('**/', i): out += '(?:.*/)?'; i += 3
        elif g.startswith('**', i): out += '.*'; i += 2
        elif g[i] == '*': out += '[^/]*'; i += 1
        elif g[i] == '?': out += '[^/]'; i += 1
        else: out += re.escape(g[i]); i += 1
    return re.compile(out + r'\Z')


class Globs:
    cache = {}
    def __init__(self, text):
        parts = [p.strip() for p in text.split(',') if p.strip()]
        self.yes = [glob_re(p) for p in parts if not p.startswith('!')]
        self.no = [glob_re(p[1:]) for p in parts if p.startswith('!')]
        if not self.yes: self.yes = [glob_re('**')]
    def match(self, path):
        return any(r.match(path) for r in self.yes) and not any(r.match(path) for r in self.no)


class Row:
    def __init__(self, n, cells):
        cells += [''] * (7 - len(cells))
        self.n = n
        self.kind, self.glob, self.old, self.new, self.note, self.section, self.regex = [c.strip() for c in cells[:7]]
        if self.kind == 'text': self.old, self.new = (x.replace('\\n', '\n') for x in (self.old, self.new))
        self.globs = Globs(self.glob)
        self.rx = None
        if self.regex:
            n = iter(range(99))
            self.rx = re.compile(re.sub('@', lambda m: r'(?P<ID%d>\b%s\b)' % (next(n), re.escape(self.old)), self.regex), re.S)
        self.hits = 0
        self.room = self.section.split(':')[-1]
        self.public = self.section.startswith('public')


def read_map(path):
    rows = []
    for n, line in enumerate(open(path), 1):
        if not line.strip() or line.startswith('#') or line.startswith('kind\t'): continue
        r = Row(n, line.rstrip('\n').split('\t'))
        if r.kind not in ('id', 'str', 'file', 'text', 'com') or not r.old or not r.new:
            sys.exit(f'{path}:{n}: bad row: {line.strip()}')
        rows.append(r)
    return rows


def git(tree, *a):
    return subprocess.run(['git', '-C', tree, *a], capture_output=True, text=True, check=True).stdout


def files_of(tree):
    out = git(tree, 'ls-files', '-co', '--exclude-standard').split('\n')
    return [f for f in dict.fromkeys(out) if f and os.path.isfile(f'{tree}/{f}') and not os.path.islink(f'{tree}/{f}')]


def replace_words(text, f):
    return WORD.sub(lambda m: f(m.group()) or m.group(), text)


def in_comment(text, table):
    """Names in backticks, calls `x()`, qualified names, and names that no English sentence has (with an underscore)."""
    def tick(m): return '`' + replace_words(m.group(1), table.get) + '`'
    text = re.sub(r'`([^`\n]+)`', tick, text)
    def word(m):
        old = m.group()
        new = table.get(old)
        if not new: return old
        s, e = m.span()
        codelike = '_' in old or m.string[e:e + 1] == '(' or (m.string[e:e + 1] == ':' and m.string[e:e + 2] == ': ') or m.string[e:e + 2] == '::' or m.string[max(0, s - 2):s] == '::'
        # In a sentence, "word (" is prose; "word(" is code. A path or a file stem is not an identifier.
        if m.string[e:e + 4] in ('.hpp', '.cpp') or m.string[max(0, s - 1):s] == '/': return old
        return new if codelike else old
    return WORD.sub(word, text)


def in_markdown(text, table):
    parts = re.split(r'(```.*?```)', text, flags=re.S)
    for i, p in enumerate(parts):
        if p.startswith('```'): parts[i] = replace_words(p, table.get)
        else: parts[i] = re.sub(r'`([^`\n]+)`', lambda m: '`' + tick_md(m.group(1), table) + '`', p)
    return ''.join(parts)


WIDTH = 110
COMMENT = re.compile(r'( *)(///?)( ?)(.*)')


def wrap_comments(text, before):
    """Wraps the comment lines that the renames made too long; lines that were there before stay as they are."""
    old = set(before.split('\n'))
    lines, out, i = text.split('\n'), [], 0
    while i < len(lines):
        line = lines[i]
        if len(line) <= WIDTH or '//' not in line or line in old or '://' in line:
            out.append(line); i += 1; continue
        m = COMMENT.fullmatch(line)
        if m:
            cut = line.rfind(' ', 0, WIDTH + 1)
            if cut <= len(m.group(1)) + 4: out.append(line); i += 1; continue
            out.append(line[:cut].rstrip()); rest = line[cut + 1:]
            head = m.group(1) + m.group(2) + ' '
            n = COMMENT.fullmatch(lines[i + 1]) if i + 1 < len(lines) else None
            follows = n and n.group(1) == m.group(1) and n.group(2) == m.group(2) and n.group(3) and re.match(r'[A-Za-z`(0-9]', n.group(4))
            if follows: lines[i + 1] = head + rest + ' ' + n.group(4); old.discard(lines[i + 1])
            else: lines.insert(i + 1, head + rest)
            i += 1; continue
        t = re.match(r'( *)(\S.*?\S) +(// .*)\Z', line)
        if t and '"' not in t.group(3) and not out[-1].rstrip().endswith(('\\',)):
            lines[i:i + 1] = [t.group(1) + t.group(3), t.group(1) + t.group(2)]; continue
        out.append(line); i += 1
    return '\n'.join(out)


def tick_md(t, table):
    if re.fullmatch(r'[\w./<>-]+\.(?:md|hpp|cpp|py|txt|cmake|proto)', t) or '/' in t: return t
    return replace_words(t, table.get)


def main():
    p = argparse.ArgumentParser()
    p.add_argument('tree'); p.add_argument('--room'); p.add_argument('--dry', action='store_true')
    p.add_argument('--collisions', action='store_true'); p.add_argument('--map', default=os.path.join(os.path.dirname(os.path.abspath(__file__)), 'renames.tsv'))
    a = p.parse_args()
    tree = os.path.abspath(a.tree)
    rows = [r for r in read_map(a.map) if not a.room or r.room == a.room]
    ids = [r for r in rows if r.kind == 'id']
    names = files_of(tree)
    present = collections.Counter(); collisions = []; merged = []; changed = 0
    done = collections.Counter()
    by_old = collections.defaultdict(list)
    for r in ids: by_old[r.old].append(r)
    news = {r.new for r in ids}
    # 1. files
    moves = []
    for r in rows:
        if r.kind != 'file': continue
        src, dst = f'{tree}/{r.old}', f'{tree}/{r.new}'
        if os.path.exists(src):
            r.hits += 1
            if os.path.exists(dst): print(f'FAIL both {r.old} and {r.new} exist'); continue
            if not a.dry:
                os.makedirs(os.path.dirname(dst), exist_ok=True)
                subprocess.run(['git', '-C', tree, 'mv', r.old, r.new], check=True)
        elif os.path.exists(dst): done[r.n] += 1
        moves.append((r.old, r.new))
    if moves and not a.dry: names = files_of(tree)
    def forms(path):
        out = [path]
        for pre in ('include/', 'src/', 'tests/support/', 'tests/', 'bench/'):
            if path.startswith(pre): out.append(path[len(pre):])
        return out
    def path_words(old, new):  # longest first, so that include/coracle/x is not read as x
        return [(re.compile(r'(?<![\w/.-])' + re.escape(o) + r'(?![\w-])'), n) for o, n in zip(forms(old), forms(new)) if '/' in o]
    path_rx = [x for o, n in moves for x in path_words(o, n)]
    stems = [(o, n) for o, n in moves]
    def room_of(path):
        q = path.split('/')
        return q[1] if q[0] == 'src' else q[2] if q[0] == 'include' and len(q) > 3 else q[0] + '/' + q[1]
    bases = collections.defaultdict(list)  # `x.hpp` without its folder, in the room's own README and comments
    for o, n in moves: bases[room_of(o)].append((re.compile(r'(?<![\w/.])' + re.escape(os.path.basename(o)) + r'(?!\w)'), os.path.basename(n)))
    # 2. contents
    for f in names:
        if not f.endswith(TEXT) and f not in ('dev',): continue
        try: s0 = s = open(f'{tree}/{f}', encoding='utf-8').read()
        except (UnicodeDecodeError, IsADirectoryError): continue
        cpp = f.endswith(CPP)
        for rx, n in path_rx: s = rx.sub(lambda m: n, s)
        if f.count('/') > 1:
            for rx, n in bases.get(room_of(f), ()):
                if f.endswith('.md'): s = rx.sub(lambda m: n, s)
                elif cpp: s = re.sub(r'//[^\n]*', lambda m: rx.sub(lambda _: n, m.group()), s)
        if cpp:
            here = os.path.dirname(f)
            for o, n in stems:  # includes of a neighbour, and the first line `// stem: ...`
                if os.path.dirname(o) == here: s = s.replace(f'#include "{os.path.basename(o)}"', f'#include "{os.path.basename(n)}"')
                if f == n or os.path.splitext(f)[0] == os.path.splitext(n)[0]:
                    ob, nb = (os.path.splitext(os.path.basename(x))[0] for x in (o, n))
                    s = re.sub(r'\A// %s:' % re.escape(ob), f'// {nb}:', s)
            toks = [(m.lastgroup if m.lastgroup != 'd' else 'raw', m.group(), m.start()) for m in TOK.finditer(s)]
            have = collections.Counter(t for k, t, _ in toks if k == 'id')
            present.update(t for t in have if t in by_old or t in news)
            rows_here = {}
            for old in set(by_old):
                fits = [r for r in by_old[old] if r.globs.match(f)]
                if fits: rows_here[old] = fits
            spots = {}
            for old, rs in rows_here.items():
                for r in rs:
                    if r.rx and old in have:
                        spots[r.n] = {at for m in r.rx.finditer(s) for name, at in ((g, m.start(g)) for g in m.groupdict()) if at >= 0}
            table = {old: rs[-1].new for old, rs in rows_here.items() if not rs[-1].rx}
            strs = [r for r in rows if r.kind == 'str' and r.globs.match(f)]
            out, at, used = [], 0, collections.defaultdict(set)
            for k, t, pos in toks:
                new = None
                if k == 'id' and t in rows_here:
                    if not re.search(r'#\s*include\s*<[^>\n]*\Z', s[s.rfind('\n', 0, pos) + 1:pos]):
                        for r in rows_here[t]:
                            if r.rx is None or pos in spots.get(r.n, ()):
                                new = r.new; r.hits += 1; used[r.new].add(t); break
                elif k == 'com':
                    new = in_comment(t, table) if table else t
                    for r in rows:
                        if r.kind == 'com' and r.globs.match(f):
                            new, n = re.subn(r'(?<![\w`])' + re.escape(r.old) + r'(?![\w`])', lambda m: r.new, new); r.hits += n
                elif k in ('str', 'raw') and strs:
                    tab = {r.old: r for r in strs}
                    def one(w):
                        r = tab.get(w)
                        if r: r.hits += 1; return r.new
                        return None
                    new = replace_words(t, one)
                if new is not None and new != t:
                    out.append(s[at:pos]); out.append(new); at = pos + len(t)
            out.append(s[at:]); s = ''.join(out)
            for new, olds in used.items():
                if have.get(new): collisions.append((f, ','.join(sorted(olds)), new, have[new]))
                if len(olds) > 1: merged.append((f, ','.join(sorted(olds)), new))
        elif f.endswith('.md') and os.path.basename(f) not in NO_FOLLOW:
            room = f.split('/')[1] if f.startswith('src/') and f.count('/') == 2 else None
            table = {}
            for old, rs in by_old.items():
                if any(r.rx for r in rs): continue
                fits = [r for r in rs if r.globs.match(f) or (room and (r.globs.match(f'src/{room}/x.hpp')))]
                if not fits and '_' in old and len({r.new for r in rs}) == 1: fits = rs
                if fits and (len({r.new for r in fits}) == 1): table[old] = fits[0].new
            if table: s = in_markdown(s, table)
        for r in rows:
            if r.kind == 'text' and r.globs.match(f):
                s, n = re.subn(r'(?<![\w])' + re.escape(r.old) + r'(?![\w])', lambda m: r.new, s); r.hits += n
        if s != s0:
            changed += 1
            if cpp and not f.startswith('tests/golden'): s = wrap_comments(s, s0)
            if not a.dry: open(f'{tree}/{f}', 'w', encoding='utf-8').write(s)
    # 3. report
    for r in rows:
        if r.hits or done[r.n]: continue
        if r.kind == 'id' and present[r.new]: continue  # applied by an earlier run
        print(f'NOWHERE {r.kind} {r.old} -> {r.new} ({r.glob})')
    for o in by_old:  # a name that one row makes and another row takes
        for r in by_old[o]:
            for q in ids:
                if q.new == o and q is not r and (q.glob == r.glob or '**' in (q.glob, r.glob)) and not r.regex: print(f'CHAIN {q.old} -> {o} -> {r.new}')
    for f, olds, new in merged: print(f'MERGED {f}: {olds} -> {new}')
    print(f'{len(collisions)} file(s) already had the new name' + (':' if a.collisions else ' (see --collisions)'))
    if a.collisions:
        for f, olds, new, n in collisions: print(f'  {f}: {olds} -> {new}, which was there {n} time(s)')
    print(f'{changed} file(s) {"would change" if a.dry else "changed"}, {sum(r.hits for r in rows)} token(s), {len(rows)} row(s)')


main()
