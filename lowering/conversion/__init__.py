"""Conversion between sets of ops and types in one walk."""

from __future__ import annotations

from relex.lazy import listed
from relex.lowering.conversion.driver import Conversion as Conversion
from relex.lowering.conversion.driver import ConversionPass as ConversionPass
from relex.lowering.conversion.driver import ConversionTable as ConversionTable
from relex.lowering.conversion.driver import OpT as OpT
from relex.lowering.conversion.driver import Parts as Parts
from relex.lowering.conversion.driver import Replacement as Replacement
from relex.lowering.conversion.driver import Rule as Rule
from relex.lowering.conversion.driver import TypeConverter as TypeConverter
from relex.lowering.conversion.driver import convert as convert

__dir__ = listed(__name__)
