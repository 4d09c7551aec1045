"""The manual pages and the completions of the tools: are they well formed, and do they know all that the tools know?"""

import glob
import os
import re
import shutil
import subprocess
import unittest

from tool_test import INSPECT_LOCKS, PATIENCE, ToolTest, WITH_LOCK

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
PAGES = sorted(glob.glob(f"{ROOT}/docs/man/*.[1-9]"))
COMPLETIONS = f"{ROOT}/tools/completions"
TOOLS = {"with-lock": WITH_LOCK, "inspect-locks": INSPECT_LOCKS}
COMMANDS = ["list", "show", "watch", "top", "stats", "processes", "check", "release", "serve-metrics"]


def run(*words, **options):
    return subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
                          timeout=PATIENCE, **options)


def options_of(tool):
    """All long options, those of the commands included."""
    commands = [[]] if tool == "with-lock" else [[], *([command] for command in COMMANDS)]
    return {option for command in commands
            for option in re.findall(r"(?m)(?<![\w-])--[a-z][a-z-]+", run(TOOLS[tool], *command, "--help").stdout)}


class Manual(ToolTest):

    def test_the_pages_are_well_formed(self):
        self.assertEqual([os.path.basename(page) for page in PAGES], ["inspect-locks.1", "mortise.7", "with-lock.1"])
        finished = run("mandoc", "-T", "lint", "-W", "warning", *PAGES)
        self.assertEqual((finished.returncode, finished.stdout), (0, ""))

    def test_they_know_every_option_and_command(self):
        for tool in TOOLS:
            page = run("mandoc", "-T", "ascii", f"{ROOT}/docs/man/{tool}.1").stdout
            text = re.sub("_\x08|.\x08(?=.)", "", page)
            expected = options_of(tool) - ({"--help", "--version"} if tool == "inspect-locks" else set())
            self.assertEqual({option for option in expected if option not in text}, set())
        for command in COMMANDS:
            self.assertRegex(text, rf"(?m)^ +{command}\b")


class Completions(ToolTest):

    def complete(self, tool, *words):
        script = f'''source "{COMPLETIONS}/{tool}.bash"
            COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)); _{tool.replace("-", "_")}; printf '%s\\n' "${{COMPREPLY[@]}}"'''
        path = os.path.dirname(INSPECT_LOCKS) + ":" + os.environ["PATH"]
        environment = {**os.environ, "MORTISE_STORE": self.store, "PATH": path}
        return run("bash", "-c", script, "bash", tool, *words, env=environment).stdout.split()

    def test_of_bash_offer_options_commands_and_keys(self):
        self.holder().acquire(b"invoice:42")
        self.assertEqual(self.complete("inspect-locks", "sh"), ["show"])
        self.assertEqual(self.complete("inspect-locks", "show", "in"), ["invoice:42"])
        self.assertEqual(self.complete("inspect-locks", "release", "--f"), ["--format", "--force"])
        self.assertEqual(self.complete("inspect-locks", "--format", "o"), ["openmetrics"])
        self.assertEqual(self.complete("with-lock", "--ha"), ["--handover"])
        self.assertEqual(self.complete("with-lock", "--ttl", "3s", "in"), ["invoice:42"])
        self.assertIn("sleep", self.complete("with-lock", "k", "slee"))

    def test_of_all_shells_know_every_option_and_command(self):
        for name in "{}.bash", "_{}", "{}.fish":
            for tool in TOOLS:
                with open(f"{COMPLETIONS}/{name.format(tool)}", encoding="utf-8") as file:
                    text = file.read()
                wanted = {option.lstrip("-") for option in options_of(tool)} - {"version"}
                wanted |= set(COMMANDS if tool == "inspect-locks" else [])
                self.assertEqual({word for word in wanted if word not in text}, set(), name.format(tool))

    def test_their_syntax(self):
        for shell, pattern in ("bash", "*.bash"), ("zsh", "_*"), ("fish", "*.fish"):
            if shutil.which(shell) is None:
                self.skipTest(f"there is no {shell}")
            for path in glob.glob(f"{COMPLETIONS}/{pattern}"):
                finished = run(shell, "-n", path)
                self.assertEqual((finished.returncode, finished.stdout), (0, ""), path)


if __name__ == "__main__":
    unittest.main()
