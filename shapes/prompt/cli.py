"""The `shapes` command: a prompt, one question, guards certified, sizes of a model inferred, recorded sessions.

    $ shapes
    $ shapes ask --given "s % 16 == 0" --given "b % 4 == 0" "(b*s) % 64 == 0"
    $ shapes certify guards.txt --range s0=1..8192
    $ shapes onnx model.onnx --size batch=1..64 -o annotated.onnx
    $ shapes report session.jsonl -o report.html
    $ shapes replay benchmarks/corpus/*.jsonl.gz
    $ shapes test transcript.txt

Only the prompt needs `prompt_toolkit` and `rich`; questions and replays run with what `import shapes` needs.

>>> main(["ask", "--given", "s % 16 == 0", "s % 8 == 0"])
always    because  s % 16 == 0
0
"""

from __future__ import annotations

import argparse
import errno
import importlib
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Final, NoReturn

COMMANDS: Final[Mapping[str | None, str]] = {
    None: "terminal:converse",
    "ask": "asking:answer_question",
    "certify": "certifying:certify_named",
    "onnx": "models:infer_model",
    "report": "reporting:report_session",
    "replay": "replaying:replay_files",
    "test": "transcripts:run_transcripts",
}
"""The function that carries out each command, imported when it runs; it has a parameter for each option."""

NOT_WRITTEN: Final = 74
"""The exit status where the output could not be written (EX_IOERR)."""
USAGE_ERROR: Final = 64
"""The exit status of a command line that cannot be understood (EX_USAGE of sysexits.h)."""


class Parser(argparse.ArgumentParser):
    """Says what is wrong and exits with EX_USAGE: 2 is an answer here."""

    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        self.exit(USAGE_ERROR, f"{self.prog}: {message}\n")


class Version(argparse.Action):
    """Prints what a report of an error should say."""

    def __call__(self, parser: argparse.ArgumentParser, *arguments: object, **options: object) -> NoReturn:
        import platform

        import solver.terms.expr
        from shapes import __version__

        form = "as it is written" if str(solver.terms.expr.__file__).endswith(".py") else "compiled"
        print(f"symshape {__version__} (solver {form}, Python {platform.python_version()})")
        parser.exit()


def arguments() -> Parser:
    solving = Parser(add_help=False)
    solving.add_argument("--no-solver", dest="solvers", action="store_false", help="leave out sympy and z3")
    parser = Parser(
        prog="shapes",
        description="Ask what follows from what about integer sizes. Without a command: a prompt.",
    )
    parser.add_argument(
        "--version", action=Version, nargs=0, default=argparse.SUPPRESS, help="the version, and which solver runs"
    )
    parser.add_argument(
        "--echo", action="store_true", help="print each line of a script before its answer, with its number"
    )
    listed = "{ask,certify,onnx,report,replay,test}"
    commands = parser.add_subparsers(dest="command", metavar=listed, parser_class=Parser)
    ask = commands.add_parser(
        "ask",
        parents=[solving],
        help="one question; exits 0 always, 1 never, 2 depends, 3 gave up, 4 contradiction, 64 usage",
        description="One question. Exits with 0 for always, 1 never, 2 depends, 3 gave up, 4 if the facts contradict "
        "each other or the question is defined nowhere, 64 usage. Names without a --range are integers >= 0. A "
        "question that begins with a minus goes after --.",
    )
    ask.add_argument("question", help="a proposition, such as '(b*s) %% 64 == 0'")
    ask.add_argument("--given", action="append", default=[], metavar="PROPOSITION", help="a fact; may be repeated")
    ask.add_argument(
        *("--range", "--size"),
        dest="ranges",
        action="append",
        default=[],
        metavar="NAME=LO..HI[:MULTIPLE]",
        help="the values that a name may have, such as n=-8..8 or s=16..:16; may be repeated",
    )
    ask.add_argument("--json", dest="as_json", action="store_true", help="the answer as one JSON object")
    ask.add_argument("--why", action="store_true", help="the steps of the proof, or what both witnesses give")
    ask.add_argument("--export", choices=["coq"], help="the evidence as a file for coqc, instead of the answer")
    certify = commands.add_parser(
        "certify",
        parents=[solving],
        help="whether guards hold for all sizes; exits 0 proven, 1 refuted, 2 unknown, 3 contradictory, 64 usage",
        description="Whether the guards in a file, or of a compiled function, hold for all sizes in the ranges, or "
        "which can fail, and where. Exits with 0 for proven, 1 a guard can fail, 2 some were not shown to hold, "
        "3 the ranges and facts contradict each other, 64 usage, 65 no guard in the file, 66 no such file. A size "
        "without a range is any size >= 0.",
    )
    certify.add_argument(
        "what",
        metavar="FILE | MODULE:NAME",
        help="a guard on each line, a recorded session, what torch logged (TORCH_LOGS=guards, the folders of "
        "TORCH_TRACE and tlparse), an exported program (.pt2), - for standard input; or what a module has, such as a "
        "compiled function that was called, or a function without arguments that gives one",
    )
    certify.add_argument(
        *("--range", "--size"),
        dest="ranges",
        action="append",
        default=[],
        metavar="NAME=LO..HI[:MULTIPLE]",
        help="the sizes that occur, such as s0=1..8192 or x.shape[1]=16..4096:16; may be repeated",
    )
    certify.add_argument(
        "--fact", dest="facts", action="append", default=[], metavar="PROPOSITION", help="what else holds of sizes"
    )
    certify.add_argument("--session", metavar="NAME", help="which session of a recorded file")
    certify.add_argument(
        "--format", dest="form", choices=["text", "json", "sarif", "junit"], default="text", help="how it is printed"
    )
    certify.add_argument("--json", dest="form", action="store_const", const="json", help="the same as --format json")
    onnx = commands.add_parser(
        "onnx",
        help="shape inference for an ONNX model; exits 0 inferred, 1 refused, 64 usage, 66 no such file",
        description="The sizes of a model's inputs and outputs, and the guards under which all of its nodes accept "
        "them. Exits with 0, with 1 if the model is malformed or rejects all sizes in the ranges, 64 usage, 66 no such "
        "file.",
    )
    onnx.set_defaults(kind="onnx")
    onnx.add_argument("file", metavar="MODEL", help="a model file")
    onnx.add_argument("-o", "--output", metavar="ANNOTATED", help="write the model with the sizes of all its values")
    onnx.add_argument(
        "--size",
        dest="ranges",
        action="append",
        default=[],
        metavar="NAME=LO..HI[:MULTIPLE]",
        help="the sizes that occur, such as batch=1..64, by the name of a dimension; may be repeated",
    )
    onnx.add_argument("--json", dest="as_json", action="store_true", help="one JSON object")
    report = commands.add_parser(
        "report",
        parents=[solving],
        help="a recorded session, or the functions of a process, as a page",
        description="A recorded session: what was known, the guards that remain, and each question with its evidence. "
        "Or the functions that programs have compiled: their guards, specializations, graph breaks and kernel "
        "decisions beside their source lines. Exits with 65 if a line or a record was malformed, 64 if there is no "
        "such session or the extra `report` is missing, 66 if a file could not be read or written.",
    )
    report.add_argument(
        "file",
        metavar="SESSION | DIR",
        help="the file of a recorded session, plain or .gz; or the folder of SYMSHAPE_REPORT",
    )
    report.add_argument(
        "-o", "--output", metavar="PAGE", help="write an HTML file, of a folder also a folder with index.html"
    )
    report.add_argument("--session", metavar="NAME", help="which session of the file; all of them without")
    replay = commands.add_parser(
        "replay",
        parents=[solving],
        help="answer the questions of recorded sessions",
        description="Answer the questions of recorded sessions, plain or .gz; - reads standard input. The recorded "
        "truth is not read unless --judge asks for it. Exits with 65 if a line was malformed, 66 if a file could not "
        "be read, 70 if a question failed inside, 1 if --judge found a wrong answer.",
    )
    replay.add_argument("names", nargs="+", metavar="FILE")
    replay.add_argument(
        "--json", dest="as_json", action="store_true", help="one JSON object for each question, then a summary"
    )
    replay.add_argument("--judge", action="store_true", help="compare with the recorded truth")
    replay.add_argument("--evidence", action="store_true", help="read the evidence of each answer too, timed apart")
    test = commands.add_parser(
        "test",
        help="transcripts of the prompt, and saved sessions, as tests; exits 1 where an answer is another",
        description="Carries out the lines of transcripts (`> ` before each line, its answer below, as `shapes --echo` "
        "prints) and asks the questions of saved sessions again. Exits with 0, with 1 if an answer is another than the "
        "one in the file, 65 if a file has neither, 66 if one cannot be read.",
    )
    test.add_argument("files", nargs="+", metavar="TRANSCRIPT", help="a transcript, or a saved session (.jsonl, .gz)")
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; the result is the exit status."""
    options = vars(arguments().parse_args(argv))
    if options["command"] is not None:
        del options["echo"]
    module, _, function = COMMANDS[options.pop("command")].partition(":")
    run: Callable[..., int] = getattr(importlib.import_module(f"shapes.prompt.{module}"), function)  # type: ignore[explicit-any]
    try:
        status = run(**options)
        sys.stdout.flush()
    except BrokenPipeError:  # the reader of our output has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        print(f"shapes: the output could not be written: {error.strerror}", file=sys.stderr)
        return NOT_WRITTEN
    except KeyboardInterrupt:
        return 130
    return status
