"""The code blocks of a Markdown file, as something that can be compiled or run.

Every ```cpp block is compiled. One that has a main() is compiled as it stands; any other is taken for the statements of
a function and gets wrapped: its #includes go first, after <mortise/mortise.hpp>, then the chrono literals.
An HTML comment before a block, which readers of the page do not see, changes that:

    <!-- test: given
    Receipt charge(const Invoice&);
    -->                               declarations that the next block takes for granted
    <!-- test: declarations -->       the next block stands at namespace scope, not in a function
    <!-- test: run -->                the next block (```sh, ```console, or a ```cpp program) is also run

A ```console block shows commands after "$ " (continued after "> ") and what they print: there every number stands for
any number, every run of spaces for any, and "..." for anything.
"""

import dataclasses
import re

MARKS = ("given", "declarations", "run")
PART = re.compile(
    r"^<!-- test: (?P<mark>\w+)\s*(?P<argument>.*?)-->"
    r"|^```(?P<language>\w+)[^\n]*\n(?P<text>.*?)^```$",
    re.DOTALL | re.MULTILINE,
)
INCLUDE = re.compile(r"^#include .*$", re.MULTILINE)
PROMPTS = ("$ ", "> ")


@dataclasses.dataclass
class Block:
    language: str
    text: str
    line: int  # of the file, where the text begins
    marks: dict

    @property
    def name(self):
        return f"line_{self.line}"

    @property
    def is_cpp(self):
        return self.language == "cpp"

    @property
    def is_program(self):
        return self.is_cpp and re.search(r"^int main\(", self.text, re.MULTILINE) is not None

    def to_cpp(self, origin):
        """A translation unit; what the compiler says of it names the line in the Markdown file."""
        position = f'#line {self.line} "{origin}"\n'
        if self.is_program:
            return position + self.text
        includes = "\n".join(["#include <mortise/mortise.hpp>", *INCLUDE.findall(self.text)])
        body = position + INCLUDE.sub("", self.text)
        if "declarations" not in self.marks:
            body = f"[[maybe_unused]] static void {self.name}() {{\n{body}}}\n"
        return f"{includes}\nusing namespace std::chrono_literals;\n{self.marks.get('given', '')}\n{body}"

    def to_script(self):
        """The commands of the block, for a shell."""
        if self.language != "console":
            return self.text
        return "".join(line[2:] + "\n" for line in self.text.splitlines() if line.startswith(PROMPTS))

    def shows(self, output):
        """Whether the block shows what its commands printed; always true of a block that shows only commands."""
        if self.language != "console":
            return True
        shown = "".join(line + "\n" for line in self.text.splitlines() if not line.startswith(PROMPTS))
        pattern = re.escape(shown).replace(re.escape("..."), ".*")
        pattern = re.sub(r"\d+", r"\\d+", pattern)
        pattern = re.sub(r"(\\ )+", " +", pattern)
        return re.fullmatch(pattern, re.sub(r" +$", "", output, flags=re.MULTILINE), re.DOTALL) is not None


def blocks(markdown):
    found = []
    marks = {}
    for part in PART.finditer(markdown):
        if part["mark"]:
            if part["mark"] not in MARKS:
                raise ValueError(f"<!-- test: {part['mark']} --> is none of {MARKS}")
            marks[part["mark"]] = part["argument"]
        else:
            line = markdown.count("\n", 0, part.start("text")) + 1
            found.append(Block(part["language"], part["text"], line, marks))
            marks = {}
    return found
