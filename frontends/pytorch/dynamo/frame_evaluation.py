"""Leave Python's evaluation of frames as it was, after a capture that raised.

    >>> import torch
    >>> from frontends.pytorch.dynamo.frame_evaluation import after_failed_capture
    >>> def fails(module, inputs):
    ...     raise KeyError("no kernels")
    >>> try:
    ...     torch.compile(lambda x: x * 2, backend=fails)(torch.ones(2))
    ... except Exception as error:
    ...     after_failed_capture(error)

Torch counts the threads in which Dynamo looks at frames, and looks at none while the count is 0. An error that leaves
its compiler is not counted as the end of one, so from then on every frame of the process takes torch's route, where
deep recursion overflows the stack. The count changes only when a thread begins or ends: here one begins and ends twice.
"""

from __future__ import annotations

from typing import Final

from torch._C._dynamo.eval_frame import get_eval_frame_callback, set_eval_frame
from torch._dynamo.exc import FailOnRecompileLimitHit, TorchDynamoException
from torch._dynamo.types import ConvertFrameReturn, FrameAction, FrameExecStrategy
from torch.fx.experimental.symbolic_shapes import ConstraintViolationError, GuardOnDataDependentSymNode

FROM_THE_COMPILER: Final = (
    TorchDynamoException,
    FailOnRecompileLimitHit,
    ConstraintViolationError,
    GuardOnDataDependentSymNode,
)
"""Errors that only the compiler raises, not a compiled program."""
DONE: Final = "symshape_frames_restored"


def after_failed_capture(error: BaseException) -> None:
    """Count the end of a capture that raised this error."""
    if isinstance(error, FROM_THE_COMPILER) and not hasattr(error, DONE) and get_eval_frame_callback() is None:
        setattr(error, DONE, True)
        set_eval_frame(run_once)
        leave()
        set_eval_frame(None)


def run_once(frame: object, entry: object, state: object) -> ConvertFrameReturn:
    """Skip a frame once: frames that it calls may use compiled code, and nothing new is compiled."""
    return ConvertFrameReturn(
        frame_exec_strategy=FrameExecStrategy(FrameAction.SKIP, FrameAction.RUN_ONLY), apply_to_code=False
    )


def leave() -> None:
    """End the first of the two evaluations; torch sets its callback again when this frame returns."""
    set_eval_frame(None)
