"""Exercises of the lessons: `relex-learn`.

`exercises` reads them, `lessons` and `later_lessons` say what they compute, `grading`, `passes` and `operators` compare
solutions with that: programs, passes, operators.
"""
