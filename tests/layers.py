#!/usr/bin/env python3
"""Reads the include lines of the tree and fails on any edge that the layering does not allow.

usage: layers.py SOURCE_ROOT
"""
import pathlib
import re
import sys

# area -> areas it may include (besides itself); "compile" is lib/*.[ch], "client" the library, "cli" the program.
ALLOWED = {
    'base': set(),
    'pelican': {'base'},
    'bir': {'pelican', 'base'},
    'klr': {'base'},
    'isa': {'bir', 'base'},
    'codegen': {'klr', 'bir', 'pelican', 'base'},
    'passes': {'codegen', 'bir', 'pelican', 'base'},
    'check': {'bir', 'isa', 'pelican', 'base'},
    'compile': {'base', 'pelican', 'bir', 'klr', 'codegen', 'passes', 'isa', 'check'},
    'proto': {'base'},
    'client': {'proto'},
    'cli': {'client', 'proto', 'compile', 'base'},
    'daemon': {'proto', 'compile', 'base'},
}
# Headers that these areas may not see, wherever they come from.
FORBIDDEN = {area: ('uv.h', 'jansson.h') for area in
             ('base', 'pelican', 'bir', 'klr', 'isa', 'codegen', 'passes', 'check', 'compile')}
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.M)


def area_of(path):
    parts = path.parts
    if parts[0] == 'lib':
        return parts[1] if len(parts) > 2 else 'compile'
    if parts[0] == 'client':
        return 'cli' if len(parts) > 2 else 'client'
    return parts[0]


def target(root, source, name):
    """Path of an included project header, or None for a system or generated one."""
    for base in (source.parent, root / 'lib', root, root / 'client'):
        candidate = (base / name).resolve()
        if candidate.is_file() and root in candidate.parents:
            return candidate.relative_to(root)
    return None


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    files = [p for top in ('lib', 'proto', 'client', 'daemon') for p in sorted((root / top).rglob('*.[ch]'))]
    passed, problems = 0, []
    for source in files:
        area = area_of(source.relative_to(root))
        for bracket, name in INCLUDE.findall(source.read_text(encoding='utf-8')):
            where = f'{source.relative_to(root)}: includes {name}'
            if name in FORBIDDEN.get(area, ()):
                problems.append(f'{where}, which {area} may not see')
                continue
            found = target(root, source, name) if bracket == '"' else None
            if found:
                to = area_of(found)
                if to != area and to not in ALLOWED[area]:
                    problems.append(f'{where}: no edge {area} -> {to}')
                    continue
            passed += 1
    print('\n'.join(problems))
    print(f'{passed} passed, {len(problems)} failed')
    return 1 if problems or not files else 0


if __name__ == '__main__':
    sys.exit(main())
