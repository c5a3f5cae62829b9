"""Recording a program as a list of operators: the recorder, inference of results, and operators with special
treatment."""
