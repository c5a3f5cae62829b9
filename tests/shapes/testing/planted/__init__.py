"""Rules with a planted mistake each, beside rules without: the testing kit tells them apart."""
