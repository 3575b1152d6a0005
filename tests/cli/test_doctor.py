"""``chaodipi doctor`` finds what is wrong, says it in a line, and changes nothing."""

import datetime
import json
import os
import subprocess
import sys
from collections import namedtuple

import pytest
import trustme
from chaodipi.service import doctor
from chaodipi.service.certificates import lifetimes
from chaodipi.service.rpc.gate import RIGHTS
from chaodipi.service.rpc.tls import TlsFiles
from chaodipi.service.store import Store

from tests.support.raw_client import hosting

CHAODIPI = [sys.executable, "-c", "from chaodipi.service.cli import main; main()"]
NOW = datetime.datetime(2026, 6, 1, 12, tzinfo=datetime.UTC)


def run(folder, *arguments, **env):
    command = [*CHAODIPI, "doctor", *map(str, arguments)]
    clean = {name: value for name, value in os.environ.items() if not name.startswith("CHAODIPI_")}
    return subprocess.run(
        command, capture_output=True, text=True, cwd=folder, env=clean | env, timeout=120, check=False
    )


def levels(findings, subject):
    return [finding.level for finding in findings if finding.subject == subject]


def pair(folder, ends):
    made = trustme.CA().issue_cert("localhost", not_before=NOW - datetime.timedelta(days=30), not_after=ends)
    made.private_key_pem.write_to_path(folder / "host.key")
    (folder / "host.key").chmod(0o600)
    for nth, blob in enumerate(made.cert_chain_pems):
        blob.write_to_path(folder / "host.pem", append=nth > 0)
    return TlsFiles(folder / "host.pem", folder / "host.key")


@pytest.mark.parametrize("year", [2027, 2049, 2051])
def test_the_life_of_a_certificate_is_read_from_its_bytes(tmp_path, year):
    """From 2050 on a certificate writes its years in another way."""
    ends = datetime.datetime(year, 1, 2, 3, 4, 5, tzinfo=datetime.UTC)
    pair(tmp_path, ends)
    [life] = lifetimes((tmp_path / "host.pem").read_text())
    assert (life.begins, life.ends) == (NOW - datetime.timedelta(days=30), ends)


def test_bytes_that_are_no_certificate_are_said_to_be_none():
    for text in ("", "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n"):
        with pytest.raises(ValueError, match="certificate"):
            lifetimes(text)


@pytest.mark.parametrize(
    ("days", "level", "said"),
    [(400, "ok", "in 400 days"), (13, "warning", "in 13 days"), (0, "problem", "ended 2026-06-01")],
)
def test_a_certificate_is_warned_of_before_it_ends(tmp_path, days, level, said):
    [finding] = doctor.check_tls(pair(tmp_path, NOW + datetime.timedelta(days=days)), NOW)
    assert (finding.level, finding.subject) == (level, "TLS")
    assert said in finding.text


def test_a_certificate_that_begins_later_or_a_key_that_all_may_read(tmp_path):
    files = pair(tmp_path, NOW + datetime.timedelta(days=400))
    [finding] = doctor.check_tls(files, NOW - datetime.timedelta(days=31))
    assert (finding.level, finding.text) == ("problem", "host.pem begins 2026-05-02")
    files.key.chmod(0o644)
    assert [finding.level for finding in doctor.check_tls(files, NOW)] == ["warning", "ok"]
    files.key.write_text("none")
    [finding] = doctor.check_tls(files, NOW)
    assert finding.level == "problem"


def test_a_store_that_is_damaged_or_of_another_version_or_on_a_full_disk(tmp_path, monkeypatch):
    path = tmp_path / "c.db"
    assert levels(doctor.check_store(path), "store") == ["ok"]
    assert not path.exists()
    Store(path, writing=True).close()
    assert levels(doctor.check_store(path), "store") == ["ok", "ok"]
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(doctor.shutil, "disk_usage", lambda _path: usage(1, 1, doctor.LEAST_DISK - 1))
    assert levels(doctor.check_store(path), "disk") == ["problem"]
    with Store(path, writing=True) as store, store.database.writing() as connection:
        connection.exec_driver_sql("UPDATE alembic_version SET version_num = '0001'")
    assert levels(doctor.check_store(path), "store") == ["ok", "warning"]
    data = bytearray(path.read_bytes())
    data[4096 * 2 : 4096 * 6] = b"\xff" * 4096 * 4
    path.write_bytes(data)
    assert "problem" in levels(doctor.check_store(path), "store")


async def test_a_host_that_runs_one_that_drains_and_none():
    async with hosting() as (host, port):
        server = f"127.0.0.1:{port}"
        findings = await doctor.check_server(server, None, "token-ant")
        assert {finding.level for finding in findings} == {"ok"}
        served = {"the host", *(method.split("/")[1] for method in RIGHTS if method.startswith("/chaodipi."))}
        assert {f.text for f in findings if f.subject == "health"} == {f"{name}: SERVING" for name in served}
        assert any("RTT median" in finding.text for finding in findings)
        assert findings[-1].text == "bots/ant, may: play; never ends"
        refused = await doctor.check_server(server, None, "wrong")
        assert refused[-1].level == "problem"
        assert refused[-1].text.startswith("TOKEN_INVALID")
        await host.drain(0)
        assert set(levels(await doctor.check_server(server, None, ""), "health")) == {"problem"}
    [finding] = await doctor.check_server(server, None, "")
    assert (finding.level, finding.subject) == ("problem", "server")


def test_what_is_printed_fits_on_80_columns_and_the_exit_code_tells(tmp_path):
    (tmp_path / "serve.toml").write_text('listen = "127.0.0.1:7878"\n')
    done = run(tmp_path, "--config", "serve.toml")
    assert (done.returncode, done.stderr) == (0, "")
    assert all(line.startswith("ok ") and len(line) <= 80 for line in done.stdout.splitlines())
    assert not (tmp_path / "out").exists()
    (tmp_path / "serve.toml").write_text('listen = "0.0.0.0:7878"\n')
    done = run(tmp_path, "--config", "serve.toml", "--json")
    assert done.returncode == 1
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert {line["schema"] for line in found} == {"chaodipi/finding/1"}
    [problem] = [line for line in found if line["level"] == "problem"]
    assert problem["subject"] == "TLS"
    assert "will not start" in problem["text"]
    (tmp_path / "serve.toml").write_text("lisen = 1\n")
    done = run(tmp_path, "--config", "serve.toml", "--server", "127.0.0.1:1")
    assert done.returncode == 1
    assert all(len(line) <= 80 for line in done.stdout.splitlines())
    assert [line.split()[0] for line in done.stdout.splitlines() if line[0] != " "].count("problem") == 2
