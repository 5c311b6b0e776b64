"""inertial-id as it is typed: words in; status, standard output and standard error out."""

from ros_inertial_id.cli.main import main


def run(capsys, *words):
    """Return (exit status, standard output, standard error) of inertial-id."""
    status = main([str(word) for word in words])
    told = capsys.readouterr()
    return status, told.out, told.err


def refused(capsys, *words):
    """Return the one line that a refused command line prints."""
    status, out, error = run(capsys, *words)
    assert status == 2 and out == '' and error.count('\n') == 1, error
    return error
