"""The explorer: a page that shows searches step by step, of small trees and of chess positions."""
