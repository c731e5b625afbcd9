"""The one exception a user is meant to read."""


class InputError(Exception):
    """Input the user can correct.

    The message is one line that names the file and line, what was found, what was
    expected and the likely fix. The command line prints it and exits with status 2.
    """
