"""The name that `frontends.onnx` had; it goes with the next release.

>>> from frontends.onnx_model import read
>>> read.__module__
'frontends.onnx.model'
"""

from frontends.onnx import *  # noqa: F403
