"""A check for schemathesis: a body that the document allows may be refused for the campaign's state alone."""

import schemathesis

#: Specs have rules between their keys that no JSON Schema can say: columns that the rows must have, a rank of at most
#: the number of items, groups that contain each other.
SPECS = {("POST", "/v1/campaigns"), ("PUT", "/v1/campaigns/{name}"), ("POST", "/v1/campaigns/{name}/change")}

#: The same in other bodies: lists of pairs have each label once, however it is written.
SAID = ("expected each label once",)


@schemathesis.check
def refused_for_its_state(ctx, response, case):
    """Fail where a body that the document allows is refused as such."""
    generation = case.meta and case.meta.generation
    if response.status_code != 422 or generation is None or generation.mode.is_negative:
        return
    problem = response.json()
    is_spec = (case.operation.method.upper(), case.operation.path) in SPECS
    if problem["error"] == "DataError" and not is_spec and not any(text in problem["detail"] for text in SAID):
        raise AssertionError(f"the document allows what is refused: {problem['detail']}")
