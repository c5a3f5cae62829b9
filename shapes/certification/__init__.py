"""Certification of guards for every size of a box: conditions, certificates, files of guards."""
