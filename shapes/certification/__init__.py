"""Whether guards hold for every size of a box: conditions, certificates, files of guards."""
