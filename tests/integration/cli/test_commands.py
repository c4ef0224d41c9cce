"""The commands from end to end."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

COMMANDS = ("try", "pack", "index", "verify", "info", "bench", "demo")


def test_help_lists_every_command_and_loads_nothing_heavy(headrace_process):
    result = headrace_process("--help")
    assert result.returncode == 0
    for command in COMMANDS:
        assert f" {command} " in result.stdout
    code = (
        "import sys; sys.argv = ['headrace', '--help']\n"
        "from headrace.cli import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "heavy = {'torch', 'torchvision', 'numpy', 'PIL', 'headrace.pack'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, env=dict(os.environ))


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_a_help_with_examples(headrace, command):
    result = headrace(command, "--help")
    assert result.exit_code == 0
    assert "--json" in result.stdout
    assert "--debug" in result.stdout
    assert f"headrace {command}" in result.stdout


def test_version(headrace):
    from headrace import __version__

    assert headrace("--version").stdout == f"headrace {__version__}\n"


def test_no_arguments_show_the_help(headrace):
    assert "COMMAND" in headrace().output


@pytest.mark.parametrize(
    "arguments",
    [
        ["pakc"],
        ["pack"],
        ["pack", "a", "b", "--samples-per-shard", "0"],
        ["pack", "a", "b", "--shard-size", "big"],
        ["pack", "a", "b", "--shard-size", "1GiB", "--samples-per-shard", "5"],
        ["pack", "a", "b", "--source", "tape"],
        ["pack", "a", "b", "--quality", "101"],
        ["pack", "a", "b", "--field", "caption"],
        ["pack", "a", "b", "--quality", "50"],
        ["pack", "a", "b", "--keep-damaged"],
        ["info"],
        ["try", "x", "--seconds", "-1"],
    ],
)
def test_usage_errors_exit_with_2_and_touch_nothing(headrace, arguments, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = headrace(*arguments)
    assert result.exit_code == 2
    assert "Traceback" not in result.output
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "arguments", [["info"], ["pack", "a", "b", "--quality", "101"], ["try", "x", "--seconds", "often"], ["fry"]]
)
def test_machines_get_usage_errors_as_json_too(headrace, arguments, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = headrace(*arguments, "--json")
    assert result.exit_code == 2
    told = json.loads(result.stdout)
    assert told["exit_code"] == 2
    assert told["error"]["message"].split(".")[0] in result.stderr
    assert not headrace(*arguments).stdout


@pytest.mark.parametrize("command", ["info", "index", "verify", "bench", "try"])
def test_what_is_not_there_exits_with_3_and_is_named(headrace, command, tmp_path):
    result = headrace(command, tmp_path / "gone.tar", "--json")
    assert result.exit_code == 3
    assert "gone.tar" in result.stderr
    assert json.loads(result.stdout)["exit_code"] == 3


@pytest.mark.parametrize("command", ["info", "index", "bench", "try"])
def test_what_is_no_shard_exits_with_3_and_is_named(headrace, command, tmp_path):
    page = tmp_path / "page.tar"
    page.write_text("<html>not found</html>" * 50)
    result = headrace(command, page)
    assert result.exit_code == 3
    assert "page.tar" in result.stderr
    assert "html" in result.stderr


def test_pack_reports_what_it_did(headrace, photographs, tmp_path):
    result = headrace("pack", photographs, tmp_path / "out", "--samples-per-shard", 30, "--json")
    assert result.exit_code == 0
    report = json.loads(result.stdout)
    assert report["num_samples"] == 60
    assert report["shards"] == ["out-000000.tar", "out-000001.tar"]
    assert len(report["class_names"]) == 10
    again = headrace("pack", photographs, tmp_path / "out", "--samples-per-shard", 30, "--ranks", 4)
    assert again.exit_code == 0
    assert "2 shards for 4 ranks" in again.stderr
    assert "kept     2 shards" in again.stdout
    assert f"{tmp_path}/out/out-{{000000..000001}}.tar" in again.stdout


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({}, "no images"),
        ({"a/x.txt": b"1"}, "no images"),
        ({"a.b/x.1.jpg": b"1"}, "--replace-dots"),
        ({"l.csv": b"path\ngone.jpg\n"}, "gone.jpg"),
        ({"x.tar": b"<html>"}, "x.tar"),
    ],
)
def test_pack_says_what_is_wrong_with_a_source(headrace, tmp_path, files, message):
    folder = tmp_path / "in"
    folder.mkdir()
    for name, content in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(content)
    source = folder / "l.csv" if "l.csv" in files else folder
    kind = ["--source", "image-folder"] if "a/x.txt" in files else []
    result = headrace("pack", source, tmp_path / "out", *kind)
    assert result.exit_code == 3
    assert message in result.stderr
    assert "Traceback" not in result.stderr
    assert not (tmp_path / "out").exists()


def test_pack_on_a_full_disk_exits_with_4(headrace_process, photographs, tmp_path):
    import resource

    def small_files():
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))

    result = headrace_process("pack", photographs, tmp_path / "out", "--json", preexec_fn=small_files)
    assert result.returncode == 4
    assert "out-000000.tar" in result.stderr
    assert json.loads(result.stdout)["error"]["type"] == "DiskFullError"
    assert not list((tmp_path / "out").glob("*.tar"))


def test_ctrl_c_while_packing_exits_with_130_and_leaves_whole_shards_only(photographs, tmp_path):
    source = tmp_path / "in"
    for number in range(20):
        shutil.copytree(photographs, source / str(number))
    command = [sys.executable, "-m", "headrace", "pack", source, tmp_path / "out", "--resize-shorter", "200"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    until = time.monotonic() + 60
    while not list((tmp_path / "out").glob(".*spool/*.bin")) and time.monotonic() < until:
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    stdout, stderr = process.communicate(timeout=60)
    assert process.returncode == 130
    assert stderr == "Error: interrupted\n"
    assert stdout == ""
    assert not list((tmp_path / "out").glob("*.tar*"))


def test_info(headrace, packed):
    result = headrace("info", packed, "--ranks", 8)
    assert result.exit_code == 0
    assert "60 samples in 3 shards" in result.stdout
    assert "3 shards for 8 ranks" in result.stderr
    facts = json.loads(headrace("info", packed, "--json").stdout)
    assert facts["fields"] == ["jpg", "cls"]
    assert facts["most_samples"] == 20
    assert len(facts["class_names"]) == 10


def test_index_makes_what_is_missing_and_keeps_facts(headrace, packed, tmp_path):
    shutil.copytree(packed, tmp_path / "copy")
    for path in (tmp_path / "copy").glob("*.index"):
        path.unlink()
    before = json.loads((tmp_path / "copy" / "index.json").read_text())
    result = headrace("index", tmp_path / "copy", "--json")
    assert json.loads(result.stdout)["num_samples"] == 60
    assert len(list((tmp_path / "copy").glob("*.index"))) == 3
    after = json.loads((tmp_path / "copy" / "index.json").read_text())
    assert after["headrace"] == before["headrace"]
    assert [entry["nsamples"] for entry in after["shardlist"]] == [20, 20, 20]


def test_bench_shows_the_stages(headrace, packed):
    result = headrace("bench", packed, "--seconds", 0.2, "--batch-size", 8, "--size", 64, "--workers", 1)
    assert result.exit_code == 0, result.stderr
    assert "samples/s" in result.stdout
    for stage in ("order", "fetch", "decode", "deliver"):
        assert stage in result.stdout
    facts = json.loads(headrace("bench", packed, "--seconds", 0.1, "--size", 64, "--json").stdout)
    assert facts["samples_per_s"] > 0
    assert facts["stats"]["stages"]["decode"]["items"] > 0


def test_try_gives_one_number_and_lines_to_paste(headrace, photographs, packed):
    for source in (photographs, packed, next(photographs.iterdir())):
        result = headrace("try", source, "--seconds", 0.1, "--batch-size", 4, "--size", 64, "--workers", 0, "--json")
        assert result.exit_code == 0, result.stderr
        facts = json.loads(result.stdout)
        assert facts["speedup"] == pytest.approx(facts["ours_samples_per_s"] / facts["stock_samples_per_s"])
        assert len(facts["paste"]) == (4 if source == photographs else 3)
        assert "hr.DataLoader" in facts["paste"][-1]


@pytest.mark.parametrize("kind", ["folders", "shards"])
def test_the_lines_to_paste_run(headrace, photographs, packed, kind):
    import torch
    from torchvision.transforms import v2

    result = headrace(
        "try",
        packed if kind == "shards" else photographs,
        "--seconds",
        0.1,
        "--batch-size",
        4,
        "--size",
        64,
        "--workers",
        0,
    )
    lines = result.stdout.split("\n\n")[-1]
    transform = v2.Compose([v2.Resize((32, 32)), v2.ToImage(), v2.ToDtype(torch.float32, scale=True)])
    names = {"transform": transform}
    exec(lines, names)
    images, labels = next(iter(names["loader"]))
    assert images.shape == (4, 3, 32, 32)
    assert labels.shape == (4,)
    names["loader"].close()


def test_lines_to_paste_name_the_fields_that_there_are(headrace, photographs, tmp_path):
    flat = tmp_path / "flat"
    shutil.copytree(next(photographs.iterdir()), flat)
    options = ("--seconds", 0.1, "--batch-size", 4, "--size", 64, "--workers", 0)
    lines = headrace("try", flat, *options).stdout.split("\n\n")[-1]
    assert lines.startswith("import headrace as hr\n")
    command = next(line for line in lines.splitlines() if "# after: headrace" in line).partition("# after: headrace ")[
        2
    ]
    assert headrace(*command.split()).exit_code == 0
    again = headrace("try", f"{flat}-shards", *options).stdout.split("\n\n")[-1]
    assert 'fields="jpg"' in again
    for text in (lines, again):
        names = {"transform": None}
        exec(text.replace("transform=transform", "transform=lambda image: 0"), names)
        assert len(next(iter(names["loader"]))) == 4
        names["loader"].close()


def test_results_are_printed_as_they_are(headrace, photographs, tmp_path):
    source = tmp_path / "photographs [red] :smile:"
    shutil.copytree(photographs, source)
    assert f"in {source} [1]" in headrace("pack", source, f"{source} [1]").stdout
    (tmp_path / "x.tar").write_bytes(b"<html>")
    assert "the shard is not a tar [shard=" in headrace("verify", tmp_path / "x.tar").stdout


@pytest.mark.parametrize("num_workers", [0, 1])
def test_a_stock_loader_that_fails_is_not_our_fault(headrace, photographs, tmp_path, num_workers):
    shutil.copytree(photographs, tmp_path / "in")
    for victim in (tmp_path / "in").rglob("*.jpg"):
        victim.write_bytes(b"")
    result = headrace("try", tmp_path / "in", "--seconds", 0.1, "--workers", num_workers)
    assert result.exit_code == 3
    assert "torch's DataLoader fails" in result.stderr
    assert "Traceback" not in result.stderr


def test_options_for_lists_are_refused_elsewhere(headrace, photographs, tmp_path):
    result = headrace("pack", photographs, tmp_path / "shards", "--label-column", "label")
    assert result.exit_code == 2
    assert "image-folder" in result.stderr
    assert not (tmp_path / "shards").exists()


def test_a_folder_of_images_where_shards_are_wanted(headrace, photographs):
    result = headrace("info", photographs)
    assert result.exit_code == 3
    assert "headrace pack" in result.stderr


def test_paragraphs_of_help_flow(headrace):
    text = headrace("demo", "--help").stdout
    assert text.count("Examples:") == 1
    assert "in a short trial. Both sides train the same" in " ".join(text.split())


def test_a_name_that_does_not_exist_is_no_shard(headrace, tmp_path):
    result = headrace("try", tmp_path / "phtos")
    assert result.exit_code == 3
    assert "no such file or folder" in result.stderr


def test_a_source_without_images_is_no_trial(headrace, tmp_path):
    (tmp_path / "a").mkdir()
    assert headrace("try", tmp_path).exit_code == 3


def test_one_shard_of_equal_counts_is_told_in_the_singular(headrace, packed, tmp_path):
    shutil.copy(min(Path(packed).glob("*.tar")), tmp_path / "a-000000.tar")
    for command in ("info", "index"):
        text = headrace(command, tmp_path).stdout
        assert " in 1 shard," in text
        assert "1 shards" not in text
    each = re.search(r"  shards   ([^,]*), (\d+) samples? each", headrace("info", tmp_path).stdout)
    assert each is not None
    assert " to " not in each[1]
