"""The examples of the README, and the first five minutes of a user."""

import os
import re
import subprocess
import sys
from pathlib import Path

import ragd

README = Path(__file__).parent.parent / "README.md"
PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "python.md"


def test_the_examples_of_the_readme_run(tmp_path: Path) -> None:
    code = "\n".join(re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL))
    env = {name: value for name, value in os.environ.items() if not name.startswith("RAGD_TEST_")}
    agent = os.environ.get("RAGD_TEST_AGENT")  # none with a service as `make run` starts it
    if agent:
        env["RAGD_AGENT"] = agent
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=env, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "The gate opens two hours before high water." in done.stdout
    assert "gate.md ready" in done.stdout
    assert ("The documents answer this" in done.stdout) == bool(agent)


def test_the_examples_of_the_page_run(tmp_path: Path) -> None:
    page = PAGE.read_text()
    code = "\n".join(re.findall(r"<!-- not run: needs the package ragd -->\n```python\n(.*?)```", page, re.DOTALL))
    code = code.replace('"pilot"', repr(os.environ["RAGD_TEST_AGENT"]))
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=os.environ, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "tides.md: # Tides" in done.stdout and "berths.md ready" in done.stdout
    assert re.search(r"The documents answer this \[1\]\.\n\[1\] \w+\.md, bytes \d+ to \d+\n", done.stdout), done.stdout


def test_the_first_five_minutes(client: ragd.Ragd, index: ragd.RagdIndex, tmp_path: Path) -> None:
    for number in range(50):
        path = tmp_path / f"{number % 5}/berth-{number}.md"
        path.parent.mkdir(exist_ok=True)
        keeper = f"Its keeper is Mara Holt {number}." if number == 17 else ""
        path.write_text(f"# Berth {number}\n\nBerth {number} takes ships of up to {number + 10} metres. {keeper}\n")
    results = index.upload_folder(tmp_path, metadata={"kind": "berth"})
    assert len(results) == 50 and not [error for error in results if isinstance(error, ragd.RagdError)]
    assert index.describe()["documentCount"] == 50
    assert index.query("who is the keeper Mara Holt?", top_k=1)["sources"][0]["uri"] == "2/berth-17.md"
    assert index.query("ships", filter={"$uri": {"$startsWith": "3/"}}, top_k=50)["sources"][0]["uri"].startswith("3/")
    assert index.graph("ships of Mara Holt")["sources"]
    final = client.ask(os.environ["RAGD_TEST_AGENT"], f"Who is the keeper Mara Holt? See the index {index.name}.").final()
    assert final["citations"]
