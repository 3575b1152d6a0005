"""docs/errors.md names every reason that the host gives, and no other."""

import ast
import re
from pathlib import Path

from chaodipi.service.host.session import Warned
from chaodipi.service.rpc.errors import _CODES

ROOT = Path(__file__).parents[2]
SERVICE = ROOT / "service/src/chaodipi/service"
MAKERS = {"SessionRefused", Warned.__name__}


def given() -> dict[str, str]:
    """Reason → name of its code, of every refusal and warning whose reason stands in the code."""
    found = {}
    for path in [*(SERVICE / "host").glob("*.py"), *(SERVICE / "rpc").glob("*.py")]:
        for node in ast.walk(ast.parse(path.read_text())):
            values: list[ast.expr] = []
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in MAKERS:
                values = node.args
            elif isinstance(node, ast.Tuple):
                values = node.elts
            match values[:2]:
                case [ast.Constant(value=int(code)), ast.Constant(value=str(reason))] if reason.isupper():
                    found[reason] = _CODES[code].name
    return found


def test_every_reason_that_the_host_gives_is_on_the_page_with_its_code() -> None:
    page = (ROOT / "docs/errors.md").read_text()
    section = page.partition("## The host refuses")[2].partition("\n## ")[0]
    said = dict(re.findall(r"^\| `(\w+)` \| (\w+) \|", section, re.M))
    # These two have their reason in a variable.
    assert {reason for reason in said if reason not in given()} <= {"METHOD_UNIMPLEMENTED", "HOST_FAULT"}
    assert given().items() <= said.items()
