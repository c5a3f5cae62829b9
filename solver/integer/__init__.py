"""Linear integer arithmetic: simplex, elimination of equalities, lattice reduction, cuts, branches, certificates."""
