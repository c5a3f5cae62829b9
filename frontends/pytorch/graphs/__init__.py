"""From a recording to graphs: sizes as nodes, forward and backward, without changes in place, node by node."""
