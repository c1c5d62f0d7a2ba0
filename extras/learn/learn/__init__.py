"""Exercises of the lessons: `relex-learn`.

`exercises` reads them, `lessons` says what they compute, `grading` compares solutions with that.
"""
