"""Reports: what a compiler or a session decided about sizes, as records, and as one page beside the source lines.

>>> from shapes.reports.records import Entry, VariantReport
>>> from shapes.reports.report import Report
>>> guard = Entry("guard", "s >= 65", file="model.py", line=41, verdict="depends", rejects="s=64")
>>> report = Report("attend", variants=(VariantReport(0, "first call", entries=(guard,)),))
>>> print(report.text())
attend: 1 variant
<BLANKLINE>
variant 0: first call
  guards:
    s >= 65    (model.py:41)
<BLANKLINE>

`records` holds the data, `report` the same with text and page, `summary` the ten lines that say why something was
compiled again, `page` the page (with the extra `report`), `process` the reports of a whole process, for
`SYMSHAPE_REPORT`.
"""
