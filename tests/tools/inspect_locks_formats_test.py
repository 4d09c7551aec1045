"""The exact text and JSON that inspect-locks prints, and the JSON's schema.

What is of this run (pids, times, fencing numbers) is replaced before the comparison. With --update the golden files are
written anew: look at what changed before it is committed.
"""

import json
import os
import re
import sys
import unittest

import jsonschema

from tool_test import ToolTest

HERE = os.path.dirname(os.path.abspath(__file__))
UPDATE = "--update" in sys.argv
with open(os.path.join(HERE, "../../docs/inspect-locks.schema.json"), encoding="utf-8") as file:
    SCHEMA = json.load(file)


class Formats(ToolTest):

    maxDiff = None

    def setUp(self):
        super().setUp()
        self.user, self.dead = self.holder(), self.holder()
        for key in b"invoice:42", "schlüssel".encode(), "鍵".encode(), b" a\n\x1b[31m\\", b"handed over":
            self.user.acquire(key)
        self.user.detach(b"handed over")
        self.dead.acquire(b"of a dead process")
        self.dead.end()
        self.until(lambda: not self.lock("of a dead process", exit_code=1)["holder"]["alive"])

    def assert_golden(self, name, text):
        names = {self.store: "STORE", str(self.user.pid): "PID", str(self.dead.pid): "DEAD",
                 str(os.stat("/proc/self/ns/pid").st_ino): "NAMESPACE"}
        for value, placeholder in names.items():
            text = re.sub(rf"(?<!\w){re.escape(value)}(?!\w)", placeholder, text)
        text = re.sub(r'("(?:age_ms|remaining_ms|fencing_token|fullest_stripe_percent)": )\d+', r"\1N", text)
        if name.endswith(".txt"):  # how wide the columns are depends on what stands in them
            text = re.sub(r" {2,}", "  ", text)
            text = re.sub(r"fullest stripe  \d%", "fullest stripe  N%", text)
            text = re.sub(r"(?m)  (\d+ms|\d+\.\ds)  \dm\d\ds  \d+  ", "  AGE  LEFT  FENCE  ", text)
        path = os.path.join(HERE, "golden", name)
        if UPDATE:
            with open(path, "w", encoding="utf-8") as golden:
                golden.write(text)
        with open(path, encoding="utf-8") as golden:
            self.assertEqual(text, golden.read())

    def test_text(self):
        self.assert_golden("list.txt", self.output())
        self.assert_golden("show.txt", self.output("show", "invoice:42"))
        self.assert_golden("check.txt", self.output("check"))
        self.assert_golden("stats.txt", self.output("stats"))
        self.assert_golden("key_stats.txt", self.output("stats", "invoice:42"))

    def test_json(self):
        for name, arguments in (("list.json", ["list"]), ("show.json", ["show", "handed over"]),
                                ("check.json", ["check"]), ("processes.json", ["processes"]), ("stats.json", ["stats"]),
                                ("key_stats.json", ["stats", "invoice:42"])):
            self.assert_golden(name, self.output("--json", *arguments))

    def test_all_json_is_as_the_schema_says(self):
        jsonschema.Draft202012Validator.check_schema(SCHEMA)
        definitions = {"locks": ["list"], "lock": ["show", "invoice:42"], "report": ["check"], "processes": ["processes"],
                       "stats": ["stats"], "key_stats": ["stats", "invoice:42"]}
        for definition, arguments in definitions.items():
            answer = json.loads(self.output("--json", *arguments))
            jsonschema.validate(answer, {**SCHEMA, "$ref": f"#/$defs/{definition}"})
            jsonschema.validate(answer, SCHEMA)
        with self.assertRaises(jsonschema.ValidationError):
            jsonschema.validate({"locks": []}, SCHEMA)

    def test_no_token_is_ever_shown(self):
        self.user.tell("serialize", b"invoice:42".hex())
        token = self.user.hear().split(":")[4]
        for arguments in [], ["--json"], ["show", "invoice:42"], ["stats"], ["check"], ["processes"], ["--format=openmetrics"]:
            output = self.output(*arguments)
            self.assertNotIn(token, output)
            self.assertNotIn(str(int(token, 16)), output)

    def test_no_password_is_shown(self):
        finished = self.inspect("--json", "list", store=f"shm://user:secret@host{self.path}?slots=1024")
        self.assertNotIn(b"secret", finished.stdout)


if __name__ == "__main__":
    unittest.main(argv=[argument for argument in sys.argv if argument != "--update"])
