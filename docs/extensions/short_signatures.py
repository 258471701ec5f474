"""Signatures of the reference, without what other pages list: options, and arguments that have one possible value."""

from docutils import nodes
from sphinx import addnodes

from docs.extensions.ctranslate2_names import OF_ONE_VALUE

WIDTH = 88  # characters of a signature in one line
_PATH = "str | bytes | PathLike[str] | PathLike[bytes]"


def _shorten(app, domain, objtype, content):
    """Shortens the signatures of an object in place."""
    for parameters in content.parent.findall(addnodes.desc_parameterlist):
        for parameter in list(parameters):
            name = parameter.children[0].astext() if parameter.children else ""
            if name.startswith("_") or name == "options" or (objtype == "class" and name in OF_ONE_VALUE):
                parameters.remove(parameter)
            elif parameter.astext().startswith("**given"):
                parameter[:] = [addnodes.desc_sig_operator("", "**"), addnodes.desc_sig_name("", "options")]
            elif _PATH in parameter.astext():
                rest = parameter.astext().removeprefix(name).replace(_PATH, "path")
                parameter[1:] = [nodes.Text(rest)]
        shown = [one.astext() for one in parameters]
        if shown[-2:] == ["*", "**options"]:
            parameters.remove(parameters[-2])
        parameters["multi_line_parameter_list"] = len(", ".join(shown)) > WIDTH


def setup(app):
    """Connects the shortener; called by Sphinx."""
    app.connect("object-description-transform", _shorten)
    return {"parallel_read_safe": True}
