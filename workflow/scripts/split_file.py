"""Cut one labelled file into a training and a test file."""

from muattack.job import start_log

start_log(snakemake)

import json

from muattack.data.chinese import split_file
from muattack.job import tell
from muattack.records import write_json

rows, made = json.loads(snakemake.params.rows), snakemake.output
found = split_file(snakemake.input.file, rows, {"train": made.train, "test": made.test}, rows.get("share", 0.2), snakemake.params.seed)
print(json.dumps(found, indent=1, ensure_ascii=False))
if found["empty"]:
    shown = ", ".join(found["empty"][:5]) + (", …" if len(found["empty"]) > 5 else "")
    tell(f"{found['file']}: {len(found['empty'])} of {found['rows_in']} rows have no text and are left out: {shown}.")
write_json(made.meta, found)
