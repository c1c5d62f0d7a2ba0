"""The files of `examples/digits` are complete and agree with the script that made them, and digits can be drawn."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

FOLDER = Path(__file__).parents[3] / "examples" / "digits"


@pytest.fixture
def data(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(sys, "path", [str(FOLDER), *sys.path])
    return import_module("data")


def test_weights_have_the_shapes_of_the_network(data: Any) -> None:
    weights = data.load_weights()
    shapes = {name: array.shape for name, array in weights.items()}
    assert shapes == {"w0": (128, 784), "b0": (128,), "w1": (10, 128), "b1": (10,)}
    assert all(array.dtype == np.float32 and np.isfinite(array).all() for array in weights.values())
    assert data.WEIGHTS.stat().st_size < 500_000


def test_the_weights_file_holds_nothing_else(data: Any) -> None:
    with np.load(data.WEIGHTS) as file:
        assert set(file.files) == {"w0", "b0", "w1", "b1"}


def test_images_are_stored_as_28x28_bytes(data: Any) -> None:
    with np.load(data.DIGITS) as file:
        assert set(file.files) == {"images", "labels"}
        assert (file["images"].shape, file["images"].dtype) == ((360, 28, 28), np.uint8)
        assert (file["labels"].shape, file["labels"].dtype) == ((360,), np.uint8)
    assert data.DIGITS.stat().st_size < 300_000


def test_images_load_as_rows_between_0_and_1(data: Any) -> None:
    images, labels = data.load_digits()
    assert (images.shape, images.dtype) == ((360, 784), np.float32)
    assert images.flags.c_contiguous
    assert (images.min(), images.max()) == (0, 1)
    assert labels.dtype == np.int64
    assert np.bincount(labels, minlength=len(data.CLASSES)).min() >= 30


def test_the_network_knows_digits_that_it_has_not_seen(data: Any) -> None:
    images, labels = data.load_digits()
    scores = data.reference(images, **data.load_weights())
    assert (scores.shape, scores.dtype) == ((360, 10), np.float32)
    assert np.mean(scores.argmax(axis=1) == labels) >= 0.96


def test_no_prediction_hangs_on_rounding(data: Any) -> None:
    images, _ = data.load_digits()
    second, best = np.sort(data.reference(images, **data.load_weights()), axis=1)[:, -2:].T
    assert np.min(best - second) > 1e-2


@pytest.mark.full
def test_the_script_makes_the_arrays_of_the_files(data: Any) -> None:
    pytest.importorskip("sklearn", reason="training needs scikit-learn")
    train = import_module("train")
    (images, labels), (test_images, test_labels) = train.split_digits()
    with np.load(data.DIGITS) as file:
        np.testing.assert_array_equal(test_images, file["images"])
        np.testing.assert_array_equal(test_labels, file["labels"])
    kept = data.load_weights()
    for name, array in train.train(images, labels).items():
        np.testing.assert_array_equal(array, kept[name], err_msg=name)


def test_a_plain_picture_is_14_lines_of_ascii(data: Any) -> None:
    images, _ = data.load_digits()
    picture = data.show(images[0], colour=False)
    assert picture.isascii()
    assert [len(line) for line in picture.split("\n")] == [28] * 14


def test_a_picture_keeps_its_orientation(data: Any) -> None:
    image = np.zeros((28, 28), np.float32)
    image[:2, :5] = 1
    first, *rest = data.show(image, colour=False).split("\n")
    assert first == "@" * 5 + " " * 23
    assert not "".join(rest).strip()
