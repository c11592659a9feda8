# Reads requirements, one a line, and prints those that are not met: the line, a tab, and why.
import importlib.metadata
import re
import sys

try:
    from packaging.requirements import Requirement
except ImportError:
    try:
        from pip._vendor.packaging.requirements import Requirement
    except ImportError:
        Requirement = None


def why_not(line):
    name, extras, clauses = re.fullmatch(r"([\w.-]+)\s*(?:\[(.*?)\])?\s*(.*)", line).groups()
    try:
        version = importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        if name.lower() in getattr(sys, "stdlib_module_names", ()) and not extras and not clauses:
            return None
        return "it is not installed"
    if Requirement is None:
        if extras or clauses not in ("", "==" + version):
            return f"version {version} is installed, and without the package packaging it cannot be compared"
        return None
    requirement = Requirement(line)
    if not requirement.specifier.contains(version, prereleases=True):
        return f"version {version} is installed"
    for extra in requirement.extras:
        for text in importlib.metadata.requires(name) or ():
            part = Requirement(text)
            if part.marker is None or part.marker.evaluate({"extra": ""}) or not part.marker.evaluate({"extra": extra}):
                continue
            part.marker = None
            reason = why_not(str(part))
            if reason:
                return f"for its extra {extra} it needs {part}, and {reason}"
    return None


for line in sys.stdin.read().splitlines():
    reason = why_not(line)
    if reason:
        print(line, reason, sep="\t")
