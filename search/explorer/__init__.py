"""The explorer: a web page that shows searches of trees and of chess positions step by step."""
