"""Runs a test script, or ends with the status of a skipped test when a module that it needs is missing."""

import importlib.util
import os
import sys

modules, script, *arguments = sys.argv[1:]
missing = [module for module in modules.split() if importlib.util.find_spec(module) is None]
if missing:
    print("skipped: Python has no module", ", ".join(missing))
    sys.exit(77)
os.execv(sys.executable, [sys.executable, "-B", script, *arguments])
