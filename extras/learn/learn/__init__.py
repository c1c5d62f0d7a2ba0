"""Exercises of the lessons: `relex-learn`.

`exercises` reads them, `lessons` and `later_lessons` say what they compute; `grading`, `passes` and `graded_operators`
compare programs, passes and operators with that.
"""
