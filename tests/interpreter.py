"""The state of the Python interpreter that compilers change."""

import ctypes


def evaluates_frames() -> bool:
    """Return True if Python itself evaluates its frames, as no compiler has left its evaluation behind."""
    python = ctypes.pythonapi
    python.PyInterpreterState_Get.restype = python._PyInterpreterState_GetEvalFrameFunc.restype = ctypes.c_void_p
    python._PyInterpreterState_GetEvalFrameFunc.argtypes = [ctypes.c_void_p]
    current = python._PyInterpreterState_GetEvalFrameFunc(python.PyInterpreterState_Get())
    default = ctypes.cast(python._PyEval_EvalFrameDefault, ctypes.c_void_p).value
    return bool(current == default)
