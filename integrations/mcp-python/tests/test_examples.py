"""The examples of docs/how-to/agent-frameworks.md, with a scripted model instead of a paid one."""

import os
import re
import subprocess
import sys
import uuid
from pathlib import Path

import httpx
import pytest

PAGE = (Path(__file__).parents[3] / "docs" / "how-to" / "agent-frameworks.md").read_text()
EXAMPLES = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


def call(method: str, **message: object) -> dict[str, object]:
    headers = {"Authorization": "Bearer " + os.environ["RAGD_API_KEY"]}
    answer = httpx.post(f"{os.environ['RAGD_SERVER']}/ragd.v1.{method}", json=message, headers=headers, timeout=60)
    answer.raise_for_status()
    return dict(answer.json())


@pytest.mark.parametrize(
    ("library", "first"),
    [
        # The scripted model speaks chat completions, not the API of responses.
        ("agents", "import agents\nagents.set_default_openai_api('chat_completions')\nagents.set_tracing_disabled(True)\n"),
        ("pydantic_ai", ""),
    ],
)
def test_example(library: str, first: str) -> None:
    (code,) = [example for example in EXAMPLES if f"from {library} import" in example]
    index = "harbour_" + uuid.uuid4().hex[:8]
    call("IndexService/CreateIndex", indexName=index)
    call(
        "DocumentService/UploadDocument", indexName=index, uri="tides.md", text="The gate opens two hours before high water."
    )
    ran = subprocess.run(
        [sys.executable, "-c", first + code.replace("index harbour", "index " + index)],
        check=False,
        capture_output=True,
        text=True,
        timeout=120,
        env=os.environ
        | {"OPENAI_BASE_URL": os.environ["RAGD_TEST_MODEL_URL"], "OPENAI_API_KEY": "sk-fake-0123456789abcdef"},
    )
    assert ran.returncode == 0, ran.stderr
    # What the scripted model says once vector_query has searched the index that the question names.
    assert "The documents answer this [1]." in ran.stdout
