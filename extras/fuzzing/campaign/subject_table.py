"""The open table of subjects."""

from __future__ import annotations

from relex.dialects.table import Table
from relex.tools.campaign.subject import Subject
from relex.tools.campaign.subjects.calls import CallsSubject
from relex.tools.campaign.subjects.equivalents import EquivalentsSubject
from relex.tools.campaign.subjects.levels import LevelsSubject
from relex.tools.campaign.subjects.loop_functions import LoopsSubject
from relex.tools.campaign.subjects.pass_orders import PassOrdersSubject
from relex.tools.campaign.subjects.schedules import SchedulesSubject
from relex.tools.campaign.subjects.scripts import ScriptsSubject
from relex.tools.campaign.subjects.texts import TextsSubject
from relex.tools.campaign.subjects.wider import WiderSubject
from relex.tools.campaign.subjects.wider_loops import WiderLoopsSubject

SUBJECTS = Table[str, Subject]("relex-fuzz")
"""The subjects by name; other packages add theirs."""

for subject in (
    LevelsSubject(),
    LoopsSubject(),
    PassOrdersSubject(),
    SchedulesSubject(),
    EquivalentsSubject(),
    CallsSubject(),
    TextsSubject(),
    ScriptsSubject(),
    WiderSubject(),
    WiderLoopsSubject(),
):
    SUBJECTS.add(subject, subject.name)
