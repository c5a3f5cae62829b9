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
    """A parser that prints the error and exits with EX_USAGE: the status 2 is an answer here."""

    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        self.exit(USAGE_ERROR, f"{self.prog}: {message}\n")


class Version(argparse.Action):
    """Prints what a report of an error should say."""

    def __call__(self, parser: argparse.ArgumentParser, *arguments: object, **options: object) -> NoReturn:
        import platform

        import solver.terms.expr
        from shapes import __version__

        form = "not compiled" if str(solver.terms.expr.__file__).endswith(".py") else "compiled"
        print(f"symshape {__version__} (solver {form}, Python {platform.python_version()})")
        parser.exit()


def arguments() -> Parser:
    solving = Parser(add_help=False)
    solving.add_argument("--no-solver", dest="solvers", action="store_false", help="leave out sympy and z3")
    parser = Parser(
        prog="shapes",
        description="Decide propositions about symbolic integer sizes. Without a command, opens a prompt.",
    )
    version = "print the version and the form of the solver"
    parser.add_argument("--version", action=Version, nargs=0, default=argparse.SUPPRESS, help=version)
    parser.add_argument(
        "--echo", action="store_true", help="print each line of a script before its answer, with its number"
    )
    listed = "{ask,certify,onnx,report,replay,test}"
    commands = parser.add_subparsers(dest="command", metavar=listed, parser_class=Parser)
    ask = commands.add_parser(
        "ask",
        parents=[solving],
        help="answer one question; exits 0 always, 1 never, 2 depends, 3 gave up, 4 contradiction, 64 usage",
        description="Answer one question. Exits with 0 for always, 1 never, 2 depends, 3 gave up, 4 if the facts "
        "contradict each other or the question is nowhere defined, 64 usage. Names without a --range are integers >= "
        "0. Put a question that begins with a minus after --.",
    )
    ask.add_argument("question", help="a proposition, such as '(b*s) %% 64 == 0'")
    ask.add_argument("--given", action="append", default=[], metavar="PROPOSITION", help="a fact; may be repeated")
    ask.add_argument(
        *("--range", "--size"),
        dest="ranges",
        action="append",
        default=[],
        metavar="NAME=LO..HI[:MULTIPLE]",
        help="the range of a name, such as n=-8..8 or s=16..:16; may be repeated",
    )
    ask.add_argument("--json", dest="as_json", action="store_true", help="print the answer as one JSON object")
    ask.add_argument("--why", action="store_true", help="print the proof steps, or the values at both witnesses")
    ask.add_argument("--export", choices=["coq"], help="print the evidence as a file for coqc instead of the answer")
    certify = commands.add_parser(
        "certify",
        parents=[solving],
        help="decide if guards hold for all sizes; exits 0 proven, 1 refuted, 2 unknown, 3 contradictory, 64 usage",
        description="Prove that the guards of a file or a compiled function hold for all sizes in the ranges, or show "
        "which can fail, and at which sizes. Exits with 0 for proven, 1 if a guard can fail, 2 if some guards were not "
        "proven, 3 if the ranges and facts contradict each other, 64 usage, 65 no guard in the file, 66 no such file. "
        "A size without a range is any size >= 0.",
    )
    certify.add_argument(
        "what",
        metavar="FILE | MODULE:NAME",
        help="a file with one guard a line, a recorded session, a log of torch's (TORCH_LOGS=guards, the folders of "
        "TORCH_TRACE and tlparse), an exported program (.pt2), or - for standard input; or an object in a module, such "
        "as a compiled function that was called, or a function without arguments that returns one",
    )
    certify.add_argument(
        *("--range", "--size"),
        dest="ranges",
        action="append",
        default=[],
        metavar="NAME=LO..HI[:MULTIPLE]",
        help="the range of a size, such as s0=1..8192 or x.shape[1]=16..4096:16; may be repeated",
    )
    certify.add_argument(
        "--fact", dest="facts", action="append", default=[], metavar="PROPOSITION", help="another fact about sizes"
    )
    certify.add_argument("--session", metavar="NAME", help="the session to read from a recorded file")
    certify.add_argument(
        "--format", dest="form", choices=["text", "json", "sarif", "junit"], default="text", help="the output format"
    )
    certify.add_argument("--json", dest="form", action="store_const", const="json", help="the same as --format json")
    onnx = commands.add_parser(
        "onnx",
        help="infer the sizes in an ONNX model; exits 0 inferred, 1 rejected, 64 usage, 66 no such file",
        description="Print the sizes of a model's inputs and outputs, and the guards under which all its nodes accept "
        "them. Exits with 0, with 1 if the model is malformed or rejects all sizes in the ranges, 64 usage, 66 no such "
        "file.",
    )
    onnx.set_defaults(kind="onnx")
    onnx.add_argument("file", metavar="MODEL", help="a model file")
    onnx.add_argument("-o", "--output", metavar="ANNOTATED", help="write the model with all sizes declared")
    onnx.add_argument(
        "--size",
        dest="ranges",
        action="append",
        default=[],
        metavar="NAME=LO..HI[:MULTIPLE]",
        help="the range of a size, such as batch=1..64, by the name of a dimension; may be repeated",
    )
    onnx.add_argument("--json", dest="as_json", action="store_true", help="print one JSON object")
    report = commands.add_parser(
        "report",
        parents=[solving],
        help="print a recorded session or the compiled functions of a process, or write them as a page",
        description="Report a recorded session: its facts, its minimal guards, and each question with its evidence. Or "
        "report compiled functions: their guards, specializations, graph breaks and kernel decisions beside the source "
        "lines. Exits with 65 if a line or a record is malformed, 64 if there is no such session or the extra `report` "
        "is missing, 66 if a file cannot be read or written.",
    )
    report.add_argument(
        "file",
        metavar="SESSION | DIR",
        help="a recorded session, plain or .gz, or the folder of SYMSHAPE_REPORT",
    )
    report.add_argument(
        "-o", "--output", metavar="PAGE", help="write an HTML file; for a DIR, a folder with index.html is possible too"
    )
    report.add_argument("--session", metavar="NAME", help="the session to print; without it, all of them")
    replay = commands.add_parser(
        "replay",
        parents=[solving],
        help="answer the questions of recorded sessions",
        description="Answer the questions of recorded sessions, plain or .gz; - reads standard input. Exits with 65 if "
        "a line is malformed, 66 if a file cannot be read, 70 after an internal failure, 1 if --judge finds a wrong "
        "answer.",
    )
    replay.add_argument("names", nargs="+", metavar="FILE")
    replay.add_argument(
        "--json", dest="as_json", action="store_true", help="print one JSON object for each question, then a summary"
    )
    replay.add_argument("--judge", action="store_true", help="compare the answers with the recorded truth")
    evidence = "compute the evidence of each answer too, timed separately"
    replay.add_argument("--evidence", action="store_true", help=evidence)
    test = commands.add_parser(
        "test",
        help="repeat transcripts and saved sessions as tests; exits 1 if an answer differs",
        description="Run the lines of transcripts again (`> ` before each line, its answer below, as `shapes --echo` "
        "prints) and the questions of saved sessions. Exits with 0, with 1 if an answer differs from the file, 65 if a "
        "file has no answer, 66 if a file cannot be read.",
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
