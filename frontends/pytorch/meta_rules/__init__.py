"""Meta rules for ATen operators: tensor metadata in, tensor metadata out. One family a file.

A rule takes the recorder and the operator's arguments, with traced tensors among them. It returns a `Metadata`, the
index of an argument that is returned, a list or tuple of these, or `NotImplemented` to defer to torch's meta function.
Sizes come from `shapes.rules`, by `ruled`; the rules here add strides, dtype and device.
"""

from frontends.pytorch.meta_rules import by_shape_rule, convolution, missing_meta, pointwise
