"""The guide's page on shuffling and its picture say what was measured, and what was measured is what the order does."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest

from benchmarks import results, shuffle_page
from benchmarks.report import BEGIN, END
from benchmarks.shuffle_picture import NUM_SHARDS, PANELS, SAMPLES_PER_SHARD, draw, small_epoch
from benchmarks.shuffle_quality import NUM_SAMPLES, classes, measure, order_of


@pytest.fixture(scope="module")
def figures():
    return results.load("shuffle_quality")["figures"]


def test_the_page_shows_the_figures(figures):
    text = shuffle_page.PAGE.read_text()
    assert text.partition(BEGIN)[2].partition(END)[0].strip() == "\n".join(shuffle_page.block(figures))


def test_the_picture_shows_the_figures_and_the_order(figures):
    assert shuffle_page.PICTURE.read_text() == draw(figures)


def test_other_figures_make_another_page_and_picture(figures):
    other = figures | {"full": figures["full"] | {"met_again": 0.07}}
    assert shuffle_page.block(other) != shuffle_page.block(figures)
    assert draw(other) != draw(figures)


def test_the_picture_has_a_dot_for_each_sample(figures):
    marks = list(ET.fromstring(draw(figures)).iter("{http://www.w3.org/2000/svg}path"))
    dots = sum(mark.get("d").count("h0") for mark in marks if mark.get("stroke-width") in {"1.7", "3.2"})
    assert dots == len(PANELS) * NUM_SHARDS * SAMPLES_PER_SHARD


def test_the_small_dataset_of_the_picture_is_delivered_whole():
    for mode in PANELS.values():
        assert sorted(small_epoch(*mode).tolist()) == list(range(NUM_SHARDS * SAMPLES_PER_SHARD))


def test_the_default_window_measures_as_was_written_down(figures):
    """Orders are the same on every machine: one row of the figures is computed again."""
    default = figures["default_window_shards"]
    written = next(one for one in figures["windows"] if (one["shards"], one["nodes"]) == (default, 1))
    measured = results.rounded(measure(order_of(NUM_SAMPLES, "window", default), classes(NUM_SAMPLES)))
    assert {"shards": default, "nodes": 1, **measured} == written
