"""licenses.py FOLDER: copies the licenses of the conda packages that headscope is built with, one folder per library.

tools/collect_licenses.py reads that folder (HEADSCOPE_LICENSE_DIR). conda notes in conda-meta where each package was
unpacked, and a package has its licenses in info/licenses.
"""

import json
import os
import shutil
import sys
from pathlib import Path

# Name in tools/collect_licenses.py: name of the conda package.
PACKAGES = {
    "cli11": "cli11",
    "fmt": "fmt",
    "highway": "libhwy",
    "libjpeg-turbo": "libjpeg-turbo",
    "libpng": "libpng",
    "nlohmann-json": "nlohmann_json",
    "pcre2": "pcre2",
    "utf8proc": "libutf8proc",
    "zlib": "zlib",
}

folder = Path(sys.argv[1])
records = [json.loads(path.read_text()) for path in (Path(os.environ["PREFIX"]) / "conda-meta").glob("*.json")]
unpacked = {record["name"]: Path(record["extracted_package_dir"]) for record in records}
for name, package in PACKAGES.items():
    shutil.copytree(unpacked[package] / "info/licenses", folder / name)
