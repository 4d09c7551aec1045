#!/usr/bin/env python3
"""Proves that readme_blocks.py finds, wraps and judges blocks as it says."""

import unittest

import readme_blocks

MARKDOWN = """# Title

```cpp
#include <thread>
if (!done()) return;
```

<!-- test: given
bool done();
-->

```cpp
done();
```

<!-- test: declarations -->
```cpp
class Store {};
```

```cpp
int main() {}
```

<!-- test: run -->
```console
$ count \\
>   me
leases: 3   age 1.5 s
...
end
```

```
not code
```

```sh
echo not run
```
"""


class ReadmeBlocksTest(unittest.TestCase):
    def setUp(self):
        self.blocks = readme_blocks.blocks(MARKDOWN)
        self.statements, self.given, self.declarations, self.program, self.console, self.commands = self.blocks

    def test_knows_where_a_block_begins(self):
        self.assertEqual([b.line for b in self.blocks], [4, 13, 18, 22, 27, 39])

    def test_wraps_statements_and_hoists_their_includes(self):
        lines = self.statements.to_cpp("README.md").splitlines()
        self.assertLess(lines.index("#include <thread>"), lines.index("[[maybe_unused]] static void line_4() {"))
        at = lines.index('#line 4 "README.md"')
        self.assertEqual(lines[at + 1 : at + 4], ["", "if (!done()) return;", "}"])

    def test_puts_what_is_given_before_the_block(self):
        cpp = self.given.to_cpp("README.md")
        self.assertLess(cpp.index("bool done();"), cpp.index("static void"))

    def test_leaves_declarations_at_namespace_scope(self):
        self.assertNotIn("static void", self.declarations.to_cpp("README.md"))

    def test_leaves_a_program_as_it_is(self):
        self.assertEqual(self.program.to_cpp("README.md"), '#line 22 "README.md"\nint main() {}\n')

    def test_gives_marks_to_the_next_block_only(self):
        self.assertEqual([b.line for b in self.blocks if "run" in b.marks], [27])

    def test_takes_commands_from_their_prompts(self):
        self.assertEqual(self.console.to_script(), "count \\\n  me\n")
        self.assertEqual(self.commands.to_script(), "echo not run\n")

    def test_compares_output(self):
        self.assertTrue(self.console.shows("leases: 17 age 0.25 s  \nanything\nat all\nend\n"))
        self.assertFalse(self.console.shows("leases: none age 1.5 s\nanything\nend\n"))
        self.assertFalse(self.console.shows("leases: 3 age 1.5 s\nanything\n"))
        self.assertTrue(self.commands.shows("anything\n"))

    def test_refuses_a_mark_that_it_does_not_know(self):
        with self.assertRaises(ValueError):
            readme_blocks.blocks("<!-- test: rnu -->\n```sh\ntrue\n```\n")


if __name__ == "__main__":
    unittest.main()
