"""The head of a session, whatever turn it is when somebody writes there."""


class Head:
    """Stands for "whatever the head is now", where a turn id could stand too."""


HEAD = Head()
