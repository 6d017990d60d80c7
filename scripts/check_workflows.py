#!/usr/bin/env python3
"""Checks .github/: check_workflows.py [FOLDER]. Exit 1 with a line for each mistake; 77 without PyYAML.

Workflows: keys that GitHub knows, jobs that exist where one needs another, steps that are an action of a fixed version
or a command, rights that are read-only unless a job asks for one, no secrets, and commands whose make targets and
scripts are here. Issue templates: fields that GitHub knows, with ids that differ.
"""

import re
import sys
from pathlib import Path

try:
    import yaml
except ImportError:
    sys.exit(77)

ROOT = Path(__file__).resolve().parent.parent
TOP = {"name", "on", "permissions", "concurrency", "env", "defaults", "jobs"}
JOB = {"runs-on", "container", "timeout-minutes", "steps", "needs", "if", "permissions", "env", "environment",
       "strategy"}
STEP = {"name", "id", "if", "run", "uses", "with", "env", "shell", "working-directory", "timeout-minutes"}
EVENTS = {"push", "pull_request", "workflow_dispatch", "schedule"}
FIELDS = {"markdown", "textarea", "input", "dropdown", "checkboxes"}


def load(path):
    """`on` without quotes is a truth value in YAML 1.1."""
    content = yaml.safe_load(path.read_text("utf-8"))
    return {("on" if key is True else key): value for key, value in content.items()}


def unknown(where, keys, known):
    return [f"{where}: unknown key {key!r}" for key in keys if key not in known]


def check_step(where, step, targets, root):
    yield from unknown(where, step, STEP)
    if ("run" in step) == ("uses" in step):
        yield f"{where}: expected either run or uses"
    if "uses" in step and not re.fullmatch(r"[\w.-]+/[\w./-]+@(v\d+(\.\d+)*|[0-9a-f]{40})", step["uses"]):
        yield f"{where}: expected an action of a fixed version, found {step['uses']}"
    for target in re.findall(r"\bmake ([a-z][\w-]*)", step.get("run", "")):
        if target not in targets and "apt-get" not in step["run"]:
            yield f"{where}: the Makefile has no target {target}"
    for script in re.findall(r"\bscripts/[\w./-]+", step.get("run", "")):
        if not (root / script).is_file():
            yield f"{where}: expected {script}, found none"


def check_workflow(path, targets, root):
    text, content = path.read_text("utf-8"), load(path)
    yield from unknown(path.name, content, TOP)
    events = content.get("on") or {}
    yield from unknown(f"{path.name}: on", events, EVENTS)
    if "secrets." in text:
        yield f"{path.name}: expected no secrets; github.token is enough"
    if content.get("permissions") != {"contents": "read"}:
        yield f"{path.name}: expected 'permissions: contents: read'; jobs ask for more"
    jobs = content.get("jobs") or {}
    if not jobs or not events:
        yield f"{path.name}: expected events and jobs, found none"
    for name, job in jobs.items():
        where = f"{path.name}: {name}"
        yield from unknown(where, job, JOB)
        if "runs-on" not in job or not job.get("steps"):
            yield f"{where}: expected runs-on and steps"
        needs = job.get("needs", [])
        for other in [needs] if isinstance(needs, str) else needs:
            if other not in jobs:
                yield f"{where}: needs {other}, which is no job"
        for number, step in enumerate(job.get("steps", []), 1):
            yield from check_step(f"{where}: step {number}", step, targets, root)


def check_template(path):
    content = load(path)
    if path.name == "config.yml":
        yield from unknown(path.name, content, {"blank_issues_enabled", "contact_links"})
        return
    yield from unknown(path.name, content, {"name", "description", "title", "labels", "assignees", "body"})
    ids = [field.get("id") for field in content.get("body", []) if field.get("type") != "markdown"]
    if len(set(ids)) != len(ids) or None in ids:
        yield f"{path.name}: expected ids that differ, found {ids}"
    for field in content.get("body", []):
        if field.get("type") not in FIELDS or "attributes" not in field:
            yield f"{path.name}: expected a field of {sorted(FIELDS)} with attributes, found {field.get('type')}"


def mistakes(root):
    makefile = (root / "Makefile").read_text("utf-8")
    targets = set(re.findall(r"^([a-z][\w-]*):", makefile, re.M))
    workflows = sorted((root / ".github/workflows").glob("*.yml"))
    if not workflows:
        yield ".github/workflows: expected workflows, found none"
    for path in workflows:
        yield from check_workflow(path, targets, root)
    for path in sorted((root / ".github/ISSUE_TEMPLATE").glob("*.yml")):
        yield from check_template(path)


def main():
    found = list(mistakes(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT))
    print("\n".join(found) if found else "workflows and templates are as they should be")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
