# SPDX-License-Identifier: BSD-3-Clause
"""Configuration of the documentation; `make docs` builds it with warnings as errors."""

import sys
import warnings
from importlib.metadata import version as version_of
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "_ext"))

project = "bagshift"
author = "The bagshift developers"
copyright = author
version = release = version_of("bagshift")

extensions = [
    "mathml",
    "method_table",
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.viewcode",
    "sphinx_gallery.gen_gallery",
]
templates_path = ["_templates"]
# What stands between single backticks is code, in docstrings as in the gallery.
default_role = "literal"
# A reference may stand in a list without being cited in the text.
suppress_warnings = ["ref.citation"]
exclude_patterns = ["_build", "gallery/**/*.ipynb", "gallery/**/*.py", "gallery/**/*.md5"]
html_math_renderer = "mathml"

# --- Markdown pages --------------------------------------------------------------------------

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3

# --- API pages: one per public object --------------------------------------------------------

autosummary_generate = True
autodoc_typehints = "none"
autodoc_inherit_docstrings = True
numpydoc_show_class_members = False  # the page lists them itself

# --- gallery ---------------------------------------------------------------------------------

sphinx_gallery_conf = {
    "examples_dirs": str(HERE.parent / "examples"),
    "gallery_dirs": "gallery",
    "filename_pattern": r"plot_",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "show_signature": False,
    "show_memory": False,
    "remove_config_comments": True,
    "write_computation_times": False,
    "copyfile_regex": r"^$",
}
warnings.filterwarnings("error", module=r"bagshift")

# --- look ------------------------------------------------------------------------------------

html_theme = "pydata_sphinx_theme"
html_title = "bagshift"
html_static_path = ["_static"]
html_css_files = ["bagshift.css"]
html_show_sourcelink = False
html_sidebars = {"**": []}
html_theme_options = {
    "navbar_align": "left",
    "navbar_end": ["theme-switcher"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
    "show_prev_next": False,
}
