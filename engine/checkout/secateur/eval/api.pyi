from eval.api import *  # noqa: F403
